// The events of the image manager, in upstream's words, and its calls to the runtime.
import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../test/builders/builders.ts';
import { anImageManager, collectEvents, type ManagerOver } from '../../test/builders/image-manager.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import { Secret } from '../base/log/secret.ts';
import type { PullCredential } from './credentials/keyring.ts';
import type { ImageHistory } from './image-manager.ts';

const at = 'spec.containers{c}';
const credential = (username: string): PullCredential => ({
  username,
  password: new Secret(`password of ${username}`),
  hash: username,
  source: undefined,
});

class Scene {
  readonly clock = new FakeClock();
  readonly emitted: string[];
  readonly pulls: string[] = [];
  readonly counted: string[] = [];
  lookups = 0;
  missingSecrets: readonly string[] = [];
  readonly observed: [number, number][] = [];
  readonly kept: string[] = [];
  present = false;
  mayUseImage = true;
  pullMs = 0;
  credentials: readonly PullCredential[] = [];
  /** The error of a user's pull; undefined: it succeeds. */
  failure: (username: string | undefined) => Error | undefined = () => undefined;
  inspectFailure: Error | undefined;
  readonly manager;

  constructor(over: Partial<ManagerOver> & { readonly withHistory?: boolean } = {}) {
    const { events, emitted } = collectEvents();
    this.emitted = emitted;
    const { withHistory = false, ...rest } = over;
    this.manager = anImageManager({
      clock: this.clock,
      events,
      images: {
        imageStatus: async () => {
          if (this.inspectFailure !== undefined) throw this.inspectFailure;
          return {
            image: this.present ? { id: 'sha256:1', username: '', size: 4_194_304n } : undefined,
            info: {},
          } as never;
        },
        pullImage: async ({ auth, image }) => {
          this.pulls.push(`${image?.image} ${JSON.stringify(image?.annotations)} ${auth?.username ?? '-'}`);
          if (this.pullMs > 0) await this.clock.sleep(this.pullMs);
          const failure = this.failure(auth?.username);
          if (failure !== undefined) throw failure;
          this.present = true;
          return { imageRef: 'sha256:1' };
        },
      },
      credentials: {
        find: async () => {
          this.lookups += 1;
          return { credentials: this.credentials, missingSecrets: this.missingSecrets };
        },
      },
      history: withHistory ? this.#history() : undefined,
      metrics: {
        observePull: (...args) => void this.observed.push(args),
        countEnsure: (...labels) => void this.counted.push(labels.join(' ')),
      },
      ...rest,
    });
  }

  #history(): ImageHistory {
    const note = async (text: string): Promise<void> => void this.kept.push(text);
    return {
      begin: (image) => note(`begin ${image}`),
      succeeded: (image, ref, used) => note(`succeeded ${image} ${ref} ${used?.username ?? '-'}`),
      failed: (image) => note(`failed ${image}`),
      mayUseImage: async (_image, _ref, credentials) => {
        await credentials();
        return this.mayUseImage;
      },
    };
  }

  async start(policy: string, image = 'app', signal = new AbortController().signal): Promise<string> {
    const container = aContainer({ image, imagePullPolicy: policy });
    const pod = aPod({ containers: [container], annotations: { a: 'b' } });
    try {
      const found = await this.manager.find(image, signal, { pod, container });
      return (await this.manager.ensure({ pod, container, sandboxConfig: {} }, found, signal)).ref;
    } catch (err) {
      return err instanceof KubeletError ? err.reason : (err as Error).name;
    }
  }
}

test('reports a pull with its duration and size', async () => {
  const it = new Scene();
  it.pullMs = 1234.5;
  const started = it.start('IfNotPresent');
  await it.clock.advance(2_000);
  expect(await started).toBe('sha256:1');
  expect(it.emitted).toEqual([
    `Normal Pulling ${at} Pulling image "app"`,
    `Normal Pulled ${at} Successfully pulled image "app" in 1.234s (1.234s including waiting). Image size: 4194304 bytes.`,
  ]);
  expect(it.pulls).toEqual(['app:latest {"a":"b"} -']);
  expect(it.observed).toEqual([[4_194_304, 1.2345]]);
});

test('looks no credentials up for an image that is present', async () => {
  const it = new Scene();
  it.present = true;
  expect(await it.start('IfNotPresent')).toBe('sha256:1');
  expect(it.emitted).toEqual([`Normal Pulled ${at} Container image "app" already present on machine`]);
  expect([it.lookups, it.pulls.length]).toEqual([0, 0]);
});

test('looks credentials up once for the check of access and the pull', async () => {
  const it = new Scene({ withHistory: true });
  it.present = true;
  it.mayUseImage = false;
  expect(await it.start('IfNotPresent')).toBe('sha256:1');
  expect([it.lookups, it.pulls.length]).toEqual([1, 1]);
});

test('reports missing pull secrets only after a failed pull', async () => {
  const it = new Scene();
  it.missingSecrets = ['one', 'two'];
  const text =
    'Warning FailedToRetrieveImagePullSecret Unable to retrieve some image pull secrets (one, two); attempting to pull the image may not succeed.';
  expect(await it.start('Always')).toBe('sha256:1');
  expect(it.emitted).not.toContain(text);
  it.failure = () => new KubeletError('internal', 'UNKNOWN', 'no');
  await it.clock.advance(1_000);
  expect(await it.start('Always')).toBe('ErrImagePull');
  expect(it.emitted.at(-1)).toBe(text);
  await it.clock.advance(3_000);
  // In backoff: nothing was pulled, so nothing more is reported.
  expect(await it.start('Always')).toBe('ImagePullBackOff');
  expect(it.emitted.filter((line) => line === text)).toHaveLength(1);
});

test.each([
  ['Always', true, true, 'Always  true'],
  ['IfNotPresent', false, true, 'IfNotPresent false true'],
  ['IfNotPresent', true, true, 'IfNotPresent true false'],
  ['IfNotPresent', true, false, 'IfNotPresent true true'],
  ['Never', false, true, 'Never false '],
  ['Never', true, false, 'Never true true'],
])('counts a request with policy %s, present %s, allowed %s', async (policy, present, allowed, want) => {
  const it = new Scene({ withHistory: true });
  it.present = present;
  it.mayUseImage = allowed;
  await it.start(policy);
  expect(it.counted).toEqual([want]);
});

test('counts a request whose image cannot be inspected', async () => {
  const it = new Scene();
  it.inspectFailure = new KubeletError('internal', 'UNKNOWN', 'disk');
  await it.start('IfNotPresent');
  expect(it.counted).toEqual(['IfNotPresent  ']);
});

test('does not inspect the image with pull policy Always', async () => {
  const it = new Scene();
  it.present = true;
  expect(await it.start('Always')).toBe('sha256:1');
  expect(it.pulls).toHaveLength(1);
});

test('reports a failed pull, backs off and retries', async () => {
  const it = new Scene();
  it.failure = () => new KubeletError('not-found', 'NOT_FOUND', 'app: not found');
  const wait = `Normal BackOff ${at} Back-off pulling image "app"`;
  const tried = [
    `Normal Pulling ${at} Pulling image "app"`,
    `Warning Failed ${at} Failed to pull image "app": rpc error: code = NotFound desc = app: not found`,
  ];
  expect(await it.start('IfNotPresent')).toBe('ErrImagePull');
  await it.clock.advance(2_000);
  expect(await it.start('IfNotPresent')).toBe('ImagePullBackOff');
  await it.clock.advance(8_000);
  expect(await it.start('IfNotPresent')).toBe('ErrImagePull');
  expect(it.emitted).toEqual([...tried, wait, ...tried]);
});

test("keeps the runtime's message in the event", async () => {
  const it = new Scene();
  it.failure = () => new KubeletError('internal', 'UNKNOWN', 'RegistryUnavailable: later');
  expect(await it.start('IfNotPresent')).toBe('RegistryUnavailable');
  expect(it.emitted[1]).toBe(`Warning Failed ${at} Failed to pull image "app": RegistryUnavailable: later`);
});

test.each([
  [
    'Never',
    'app',
    'ErrImageNeverPull',
    `Warning ErrImageNeverPull ${at} Container image "app" is not present with pull policy of Never`,
  ],
  [
    'IfNotPresent',
    'UPPER//bad:::1',
    'InvalidImageName',
    `Warning InspectFailed ${at} Failed to apply default image tag "UPPER//bad:::1": couldn't parse image name "UPPER//bad:::1": invalid reference format`,
  ],
  [
    'Always',
    'a b',
    'InvalidImageName',
    `Warning InspectFailed ${at} Failed to apply default image tag "a b": couldn't parse image name "a b": invalid reference format`,
  ],
])('%s %s: %s', async (policy, image, reason, event) => {
  const it = new Scene();
  expect(await it.start(policy, image)).toBe(reason);
  expect([it.emitted, it.pulls]).toEqual([[event], []]);
});

test('reports ImageInspectError if the runtime cannot inspect the image', async () => {
  const it = new Scene();
  it.inspectFailure = new KubeletError('internal', 'UNKNOWN', 'disk');
  expect(await it.start('IfNotPresent')).toBe('ImageInspectError');
  expect(it.emitted).toEqual([`Warning InspectFailed ${at} Failed to inspect image "app:latest": disk`]);
});

test('tries credentials in order and records the first that works', async () => {
  const it = new Scene({ withHistory: true });
  it.credentials = ['ann', 'bob', 'eve'].map(credential);
  it.failure = (user) => (user === 'bob' ? undefined : new KubeletError('internal', 'UNKNOWN', 'wrong'));
  expect(await it.start('IfNotPresent')).toBe('sha256:1');
  expect(it.pulls.map((line) => line.split(' ').at(-1))).toEqual(['ann', 'bob']);
  expect(it.kept).toEqual(['begin app', 'succeeded app sha256:1 bob']);
});

test('reports the distinct failures of all credentials, without passwords', async () => {
  const it = new Scene({ withHistory: true });
  it.credentials = ['ann', 'bob', 'eve'].map(credential);
  it.failure = (user) => new KubeletError('internal', 'UNKNOWN', user === 'eve' ? 'gone' : 'wrong');
  expect(await it.start('IfNotPresent')).toBe('ErrImagePull');
  expect(it.emitted[1]).toBe(`Warning Failed ${at} Failed to pull image "app": [wrong, gone]`);
  expect(it.kept).toEqual(['begin app', 'failed app']);
  expect(JSON.stringify(it.emitted)).not.toContain('password');
});

test.each([
  [
    'IfNotPresent',
    true,
    'sha256:1',
    0,
    `Normal Pulled ${at} Container image "app" already present on machine and can be accessed by the pod`,
  ],
  [
    'Never',
    true,
    'sha256:1',
    0,
    `Normal Pulled ${at} Container image "app" already present on machine and can be accessed by the pod`,
  ],
  ['IfNotPresent', false, 'sha256:1', 1, `Normal Pulling ${at} Pulling image "app"`],
  [
    'Never',
    false,
    'ErrImageNeverPull',
    0,
    `Warning ErrImageNeverPull ${at} Container image "app" is not present with pull policy of Never`,
  ],
])('policy %s, image present, access allowed: %s', async (policy, mayUseImage, want, pulls, first) => {
  const it = new Scene({ withHistory: true });
  it.present = true;
  it.mayUseImage = mayUseImage;
  expect(await it.start(policy)).toBe(want);
  expect([it.pulls.length, it.emitted[0]]).toEqual([pulls, first]);
});

test('rejects pulls above the rate limit instead of queueing them', async () => {
  const it = new Scene({ pullQps: 1, pullBurst: 2, parallelPulls: 5 });
  const all = await Promise.all(['a', 'b', 'c'].map((image) => it.start('Always', image)));
  expect(all).toEqual(['sha256:1', 'sha256:1', 'ErrImagePull']);
  expect(it.emitted).toContain(`Warning Failed ${at} Failed to pull image "c": pull QPS exceeded`);
  await it.clock.advance(10_000);
  expect(await it.start('Always', 'c')).toBe('sha256:1');
});

test('does not share a pull between pods with different credentials', async () => {
  const it = new Scene({ parallelPulls: 5 });
  it.pullMs = 1_000;
  it.credentials = [credential('ann')];
  const ann = it.start('Always');
  await it.clock.settle();
  it.credentials = [credential('bob')];
  const bob = it.start('Always');
  const again = it.start('Always');
  await it.clock.advance(1_000);
  expect(await Promise.all([ann, bob, again])).toEqual(['sha256:1', 'sha256:1', 'sha256:1']);
  expect(it.pulls.map((line) => line.split(' ').at(-1))).toEqual(['ann', 'bob']);
});

test('cancels a pull that hangs with its pod: no failure event, no intent left, other pulls continue', async () => {
  const it = new Scene({ withHistory: true, parallelPulls: 1 });
  it.pullMs = 3_600_000;
  const stop = new AbortController();
  const hung = it.start('Always', 'hangs', stop.signal);
  await it.clock.advance(120_000);
  it.pullMs = 0;
  expect(await it.start('Always', 'other')).toBe('sha256:1');
  stop.abort(new Aborted('pod removed'));
  expect(await hung).toBe('AbortError');
  await it.clock.settle();
  expect(it.kept).toContain('failed hangs');
  expect(it.emitted.filter((line) => line.includes('Failed'))).toEqual([]);
});

test('lists the in-flight pulls of a pod with their start and attempt', async () => {
  const it = new Scene();
  it.failure = () => new KubeletError('internal', 'UNKNOWN', 'no');
  await it.start('Always');
  await it.clock.advance(10_000);
  it.pullMs = 5_000;
  const started = it.start('Always');
  await it.clock.advance(1_000);
  expect(it.manager.activities('uid-p')).toEqual([
    { what: 'image app is being pulled, attempt 2', sinceMs: it.clock.now() - 1_000 },
  ]);
  await it.clock.advance(4_000);
  await started;
  expect(it.manager.activities('uid-p')).toEqual([]);
});
