import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { memoryRecords } from '../../../test/fakes/memory-records.ts';
import { startComponent } from '../../base/component.ts';
import { silentLogger } from '../../base/log/log.ts';
import { Secret } from '../../base/log/secret.ts';
import type { PullCredential } from '../credentials/keyring.ts';
import { PullHistory } from './pull-history.ts';
import { encodeIntent, recordFileName } from './pull-record.ts';
import type { RecordFiles, RecordSizes } from './record-store.ts';

const pulling = '/root/image_manager/pulling';
const pulled = '/root/image_manager/pulled';
const { signal } = new AbortController();
const credential = (name: string): PullCredential => ({
  username: '',
  password: new Secret(''),
  hash: `hash-${name}`,
  source: { from: 'secret', at: { uid: name, namespace: 'ns', name } },
});

class Scene {
  readonly files = new Map<string, string>();
  readonly clock = new FakeClock(Date.UTC(2026, 0, 1));
  images: { id: string; repoTags: string[]; repoDigests: string[] }[] = [];
  listFails: Error | undefined;
  edge: Partial<RecordFiles> = {};
  readonly checks: string[] = [];
  readonly reads: string[] = [];
  intents: RecordSizes | undefined;
  records: RecordSizes | undefined;

  /** A run of the kubelet over the files of the previous one. */
  restart(): PullHistory {
    const memory = memoryRecords(this.files);
    return new PullHistory({
      files: {
        ...memory,
        read: (path, limit) => {
          this.reads.push(path);
          return memory.read(path, limit);
        },
        ...this.edge,
      },
      images: {
        listImages: async () => {
          if (this.listFails !== undefined) throw this.listFails;
          return { images: this.images } as never;
        },
      },
      rootDir: '/root',
      verification: { policy: 'NeverVerifyPreloadedImages', allowlist: [] },
      cacheSizes: { intents: 4, records: 4 },
      metrics: {
        countAccessCheck: (result) => void this.checks.push(result),
        setPullIntents: (sizes) => void (this.intents = sizes),
        setPulledRecords: (sizes) => void (this.records = sizes),
      },
      clock: this.clock,
      log: silentLogger,
    });
  }

  names(): readonly string[] {
    return [...this.files.keys()].map((path) => path.replace('/root/image_manager/', '').slice(0, 20)).sort();
  }
}
const may = (history: PullHistory, ...names: readonly string[]): Promise<boolean> =>
  history.mayUseImage('app:1', 'sha256:1', async () => names.map(credential), signal);

test('replaces the intent by a record', async () => {
  const it = new Scene();
  const history = it.restart();
  expect(await may(history)).toBe(true);
  await history.begin('app:1', signal);
  expect([...it.files]).toEqual([
    [`${pulling}/${recordFileName('app:1')}`, encodeIntent({ image: 'app:1' })],
  ]);
  expect(await may(history, 'a')).toBe(false);
  await history.succeeded('app:1', 'sha256:1', credential('a'));
  expect([...it.files.keys()]).toEqual([`${pulled}/${recordFileName('sha256:1')}`]);
  expect([await may(history), await may(history, 'b'), await may(history, 'a')]).toEqual([
    false,
    false,
    true,
  ]);
  expect(await may(it.restart(), 'a')).toBe(true);
});

test('removes the intent once all pulls of the image have ended', async () => {
  const it = new Scene();
  const history = it.restart();
  await history.begin('app:1', signal);
  await history.begin('app:1', signal);
  await history.failed('app:1');
  expect(it.files.size).toBe(1);
  await history.failed('app:1');
  expect(it.files.size).toBe(0);
  expect(await may(history)).toBe(true);
});

test("allows every pod to use an image that was pulled without credentials or with the node's", async () => {
  for (const used of [undefined, { ...credential('n'), source: undefined }]) {
    const it = new Scene();
    const history = it.restart();
    await history.begin('app:1', signal);
    await history.succeeded('app:1', 'sha256:1', used);
    expect(await may(history)).toBe(true);
  }
});

test('after a kill during a pull that completed, requires credentials', async () => {
  const it = new Scene();
  await it.restart().begin('busybox', signal);
  it.images = [{ id: 'sha256:9', repoTags: ['docker.io/library/busybox:latest'], repoDigests: [] }];
  const next = it.restart();
  expect(await next.mayUseImage('busybox', 'sha256:9', async () => [credential('a')], signal)).toBe(false);
  expect([...it.files.keys()]).toEqual([`${pulled}/${recordFileName('sha256:9')}`]);
});

test('after a kill during a pull that did not complete, keeps the intent', async () => {
  const it = new Scene();
  await it.restart().begin('app:1', signal);
  expect(await may(it.restart(), 'a')).toBe(false);
  expect(it.names()).toEqual(['pulling/sha256-'.concat(recordFileName('app:1').slice(7, 12))]);
});

test('after a kill, requires credentials until the runtime answers, and retries', async () => {
  const it = new Scene();
  await it.restart().begin('app:1', signal);
  it.listFails = new Error('no runtime');
  it.images = [{ id: 'sha256:1', repoTags: ['docker.io/library/app:1'], repoDigests: [] }];
  const next = it.restart();
  expect(await may(next, 'a')).toBe(false);
  it.listFails = undefined;
  expect(await may(next, 'a')).toBe(false);
  expect([...it.files.keys()]).toEqual([`${pulled}/${recordFileName('sha256:1')}`]);
});

test('ignores temporary files and files of other programs', async () => {
  const it = new Scene();
  it.files.set(`${pulling}/${recordFileName('app:1')}.tmp`, 'half');
  it.files.set(`${pulling}/notes`, 'x');
  it.files.set(`${pulled}/${recordFileName('sha256:1')}.tmp`, 'half');
  const history = it.restart();
  expect(await may(history)).toBe(true);
  await history.prune(new Set(), it.clock.now() + 1);
  expect(it.files.size).toBe(3);
});

test('requires credentials if the record is invalid, and the next pull replaces it', async () => {
  const it = new Scene();
  it.files.set(`${pulled}/${recordFileName('sha256:1')}`, '{"kind":');
  const history = it.restart();
  expect(await may(history, 'a')).toBe(false);
  await history.begin('app:1', signal);
  await history.succeeded('app:1', 'sha256:1', credential('a'));
  expect(await may(history, 'a')).toBe(true);
});

test('on a full disk, rejects the pull without an intent, and keeps the intent without a record', async () => {
  const it = new Scene();
  const memory = memoryRecords(it.files);
  const full = (): Promise<never> => Promise.reject(new Error('ENOSPC: no space left on device'));
  it.edge = { write: full };
  await expect(it.restart().begin('app:1', signal)).rejects.toMatchObject({
    reason: 'ErrImagePull',
    message: 'Failed to record image pull intent for container image "app:1"',
  });
  it.edge = { write: (path, text) => (path.startsWith(pulled) ? full() : memory.write(path, text)) };
  const history = it.restart();
  await history.begin('app:1', signal);
  await history.succeeded('app:1', 'sha256:1', credential('a'));
  expect([...it.files.keys()]).toEqual([`${pulling}/${recordFileName('app:1')}`]);
  expect(await may(history, 'a')).toBe(false);
});

test('records a secret that was accepted without a pull', async () => {
  const it = new Scene();
  const history = it.restart();
  await history.begin('app:1', signal);
  await history.succeeded('app:1', 'sha256:1', credential('a'));
  const copy = { ...credential('b'), hash: 'hash-a' };
  expect(await history.mayUseImage('app:1', 'sha256:1', async () => [copy], signal)).toBe(true);
  expect([...it.files.values()][0]).toContain('"name":"b"');
});

test('prunes the records of removed images, unless they are new', async () => {
  const it = new Scene();
  const history = it.restart();
  for (const ref of ['sha256:1', 'sha256:2']) {
    await history.begin('app:1', signal);
    await history.succeeded('app:1', ref, undefined);
  }
  await history.prune(new Set(), it.clock.now());
  expect(it.files.size).toBe(2);
  await history.prune(new Set(['sha256:2']), it.clock.now() + 1000);
  expect([...it.files.keys()]).toEqual([`${pulled}/${recordFileName('sha256:2')}`]);
});

/** The files of a kubelet 1.34, upstream's or an earlier one of this project. */
const oldIntent =
  '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1alpha1","image":"app:1"}\n';
const oldRecord = (mapped: string): string =>
  `{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1alpha1","lastUpdatedTime":"2025-10-01T10:00:00Z","imageRef":"sha256:1","credentialMapping":{"${mapped}":{"kubernetesSecrets":[{"uid":"a","namespace":"ns","name":"a","credentialHash":"hash-a"}]}}}\n`;

test.each(['app', 'docker.io/library/app'])(
  'takes a v1alpha1 record of %s over and rewrites it',
  async (mapped) => {
    const it = new Scene();
    const path = `${pulled}/${recordFileName('sha256:1')}`;
    it.files.set(path, oldRecord(mapped));
    it.files.set(`${pulling}/${recordFileName('app:1')}`, oldIntent);
    const history = it.restart();
    const stop = new AbortController();
    await startComponent(history, stop.signal);
    expect([await may(history), await may(history, 'a'), await may(history, 'b')]).toEqual([
      false,
      true,
      false,
    ]);
    await it.clock.settle();
    expect(it.files.get(path)).toBe(oldRecord(mapped).replace('v1alpha1', 'v1beta1'));
    expect(it.files.get(`${pulling}/${recordFileName('app:1')}`)).toBe(encodeIntent({ image: 'app:1' }));
    stop.abort();
  },
);

test('reads a record once, and none for an image without', async () => {
  const it = new Scene();
  it.files.set(`${pulled}/${recordFileName('sha256:1')}`, oldRecord('app'));
  const history = it.restart();
  for (const _ of [1, 2, 3]) expect(await may(history, 'a')).toBe(true);
  expect(it.reads).toHaveLength(1);
  for (const ref of ['sha256:2', 'sha256:3']) {
    expect(await history.mayUseImage('other', ref, async () => [], signal)).toBe(true);
  }
  expect(it.reads).toHaveLength(1);
  expect(it.checks).toEqual([
    ...Array.from({ length: 3 }, () => 'credentialRecordFound'),
    'credentialPolicyAllowed',
    'credentialPolicyAllowed',
  ]);
});

test('keeps a bounded number of records in memory and finds the others on disk', async () => {
  const it = new Scene();
  const history = it.restart();
  for (const index of [0, 1, 2, 3, 4, 5, 6]) {
    await history.begin(`app:${index}`, signal);
    await history.succeeded(`app:${index}`, `sha256:${index}`, credential('a'));
  }
  expect([it.records, it.intents]).toEqual([
    { onDisk: 7, cachedPercent: 100 },
    { onDisk: 0, cachedPercent: 0 },
  ]);
  for (const index of [0, 3, 6]) {
    expect(await history.mayUseImage(`app:${index}`, `sha256:${index}`, async () => [], signal)).toBe(false);
  }
});

test('survives hostile files: none stops the load, allows a pod or is parsed at length', async () => {
  const it = new Scene();
  const name = (index: number): string => `${pulled}/${recordFileName(`sha256:${index}`)}`;
  it.files.set(name(1), `{"kind":"${'x'.repeat(2_000_000)}"}`);
  it.files.set(name(2), '[]');
  it.files.set(
    name(3),
    '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","credentialMapping":7}',
  );
  it.files.set(name(4), oldRecord('app'));
  it.files.set(`${pulling}/${recordFileName('x')}`, '\u0000');
  const history = it.restart();
  const stop = new AbortController();
  const { stopped } = await startComponent(history, stop.signal);
  for (const index of [1, 2, 3]) {
    expect(await history.mayUseImage('app', `sha256:${index}`, async () => [], signal)).toBe(false);
  }
  // A record under the name of another image is not its record.
  expect(await history.mayUseImage('app', 'sha256:4', async () => [credential('a')], signal)).toBe(true);
  await history.begin('x', signal);
  await history.succeeded('x', 'sha256:2', undefined);
  expect(await history.mayUseImage('x', 'sha256:2', async () => [], signal)).toBe(true);
  expect(it.files.has(`${pulling}/${recordFileName('x')}`)).toBe(false);
  stop.abort();
  await stopped;
});

test('a slow lookup of credentials delays no other pod', async () => {
  const it = new Scene();
  it.files.set(`${pulled}/${recordFileName('sha256:1')}`, oldRecord('app'));
  const history = it.restart();
  void history.mayUseImage('app:1', 'sha256:1', () => new Promise(() => undefined), signal);
  expect(await may(history, 'a')).toBe(true);
  await history.begin('other', signal);
});

test('reports a failed lookup of credentials to the caller', async () => {
  const it = new Scene();
  it.files.set(`${pulled}/${recordFileName('sha256:1')}`, oldRecord('app'));
  const fails = (): Promise<never> => Promise.reject(new Error('no API server'));
  await expect(it.restart().mayUseImage('app:1', 'sha256:1', fails, signal)).rejects.toThrow('no API server');
  expect(it.checks).toEqual(['error']);
});

test('drops old credentials instead of growing a record without bound', async () => {
  const it = new Scene();
  const history = it.restart();
  for (let index = 0; index < 1_010; index += 1) {
    await history.begin('app:1', signal);
    await history.succeeded('app:1', 'sha256:1', credential(`s${index}`));
  }
  const [text = ''] = it.files.values();
  expect(JSON.parse(text).credentialMapping.app.kubernetesSecrets).toHaveLength(1_000);
  expect(await may(history, 's1009')).toBe(true);
});
