import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { memoryRecords } from '../../../test/fakes/memory-records.ts';
import { silentLogger } from '../../base/log/log.ts';
import { Secret } from '../../base/log/secret.ts';
import type { PullCredential } from '../credentials/keyring.ts';
import { PullHistory, type RecordFiles } from './pull-history.ts';
import { encodeIntent, recordFileName } from './pull-record.ts';

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

  /** A run of the kubelet over the files of the previous one. */
  restart(): PullHistory {
    return new PullHistory({
      files: { ...memoryRecords(this.files), ...this.edge },
      images: {
        listImages: async () => {
          if (this.listFails !== undefined) throw this.listFails;
          return { images: this.images } as never;
        },
      },
      rootDir: '/root',
      verification: { policy: 'NeverVerifyPreloadedImages', allowlist: [] },
      clock: this.clock,
      log: silentLogger,
    });
  }

  names(): readonly string[] {
    return [...this.files.keys()].map((path) => path.replace('/root/image_manager/', '').slice(0, 20)).sort();
  }
}
const may = (history: PullHistory, ...names: readonly string[]): Promise<boolean> =>
  history.mayUseImage('app:1', 'sha256:1', names.map(credential), signal);

test('replaces the intent by a record', async () => {
  const it = new Scene();
  const history = it.restart();
  expect(await may(history)).toBe(true);
  await history.begin('app:1', signal);
  expect([...it.files]).toEqual([[`${pulling}/${recordFileName('app:1')}`, encodeIntent('app:1')]]);
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
  expect(await next.mayUseImage('busybox', 'sha256:9', [credential('a')], signal)).toBe(false);
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
  expect(await history.mayUseImage('app:1', 'sha256:1', [copy], signal)).toBe(true);
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
