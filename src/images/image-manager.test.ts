import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../test/builders/builders.ts';
import { anImageManager, type ManagerOver } from '../../test/builders/image-manager.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import type { ImageManager } from './image-manager.ts';
import type { PresentImage } from './present-image.ts';

function scene(): {
  readonly clock: FakeClock;
  readonly manager: ImageManager;
  pulls: number;
  fails: boolean;
  ensure(): Promise<PresentImage | string>;
  retryInMs(image?: string): number | undefined;
} {
  const clock = new FakeClock(1_000_000);
  const container = aContainer({ image: 'example.com/app' });
  const pod = aPod({ containers: [container] });
  const images = {
    pullImage: async () => {
      it.pulls += 1;
      if (it.fails) throw new KubeletError('internal', 'UNKNOWN', 'registry denies access');
      return { imageRef: 'sha256:1' };
    },
    imageStatus: async () =>
      ({
        image: it.fails || it.pulls === 0 ? undefined : { id: 'sha256:1', username: '', uid: { value: 5n } },
        info: {},
      }) as never,
  };
  const manager = anImageManager({ images, clock });
  const it = {
    clock,
    manager,
    pulls: 0,
    fails: true,
    ensure: () =>
      manager
        .ensure({ pod, container, sandboxConfig: {} }, undefined, new AbortController().signal)
        .catch((err: KubeletError) => `${err.reason}: ${err.message}`),
    retryInMs: (image = container.image ?? '') => manager.retryInMs(pod, aContainer({ image })),
  };
  return it;
}

const failed = 'ErrImagePull: registry denies access';
const waits =
  'ImagePullBackOff: Back-off pulling image "example.com/app": ErrImagePull: registry denies access';

test('reports a failed pull as such for two seconds, then as a backoff, and retries after ten', async () => {
  const it = scene();
  expect(it.retryInMs()).toBeUndefined();
  expect(await it.ensure()).toBe(failed);
  expect(it.retryInMs()).toBe(2_000);
  await it.clock.advance(1_999);
  expect([await it.ensure(), it.retryInMs()]).toEqual([failed, 1]);
  await it.clock.advance(1);
  expect([await it.ensure(), it.retryInMs()]).toEqual([waits, 8_000]);
  await it.clock.advance(7_999);
  expect([await it.ensure(), it.pulls]).toEqual([waits, 1]);
  await it.clock.advance(1);
  expect([await it.ensure(), it.pulls]).toEqual([failed, 2]);
});

test('resets the backoff after a success', async () => {
  const it = scene();
  await it.ensure();
  it.fails = false;
  await it.clock.advance(10_000);
  expect(await it.ensure()).toEqual({ ref: 'sha256:1', uid: 5n, username: '' });
  expect(it.retryInMs()).toBeUndefined();
});

test('has no retry delay for an invalid image name', async () => {
  const it = scene();
  expect(it.retryInMs('Not/A/Name')).toBeUndefined();
  await expect(it.manager.find('Not/A/Name', new AbortController().signal)).rejects.toMatchObject({
    reason: 'InvalidImageName',
  });
});

interface Pull {
  readonly image: string | undefined;
  readonly signal: AbortSignal | undefined;
  finish(err?: Error): void;
}

/** A registry with scripted responses. */
function registry(parallelPulls: number): {
  readonly clock: FakeClock;
  readonly pulls: Pull[];
  present: boolean;
  readonly manager: ImageManager;
  ensure(uid: string, image: string, options?: EnsureOptions): Promise<string>;
} {
  const clock = new FakeClock();
  const pulls: Pull[] = [];
  const images: ManagerOver['images'] = {
    pullImage: (request, options) =>
      new Promise((resolve, reject) => {
        const signal = options?.signal;
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        const finish = (err?: Error): void => {
          it.present ||= err === undefined;
          if (err === undefined) resolve({ imageRef: 'sha256:1' });
          else reject(err);
        };
        pulls.push({ image: request.image?.image, signal, finish });
      }),
    imageStatus: async () =>
      ({ image: it.present ? { id: 'sha256:1', username: 'app' } : undefined, info: {} }) as never,
  };
  const manager = anImageManager({ images, clock, parallelPulls });
  const it = {
    clock,
    pulls,
    present: false,
    manager,
    ensure: async (uid: string, image: string, options: EnsureOptions = {}): Promise<string> => {
      const container = aContainer({ image, imagePullPolicy: options.policy ?? 'Always' });
      const pod = aPod({ uid, containers: [container] });
      const found: PresentImage | undefined = options.found
        ? { ref: 'had', uid: 1n, username: '' }
        : undefined;
      return await manager
        .ensure({ pod, container, sandboxConfig: {} }, found, options.signal ?? new AbortController().signal)
        .then(({ ref }) => ref)
        .catch((err: Error) => (err instanceof KubeletError ? `${err.reason}: ${err.message}` : err.name));
    },
  };
  return it;
}
interface EnsureOptions {
  readonly policy?: string;
  readonly found?: boolean;
  readonly signal?: AbortSignal;
}

test.each([
  ['Always', true, 1, 'sha256:1'],
  ['Always', false, 1, 'sha256:1'],
  ['IfNotPresent', true, 0, 'had'],
  ['IfNotPresent', false, 1, 'sha256:1'],
  ['Never', true, 0, 'had'],
  ['Never', false, 0, 'ErrImageNeverPull: Container image "app" is not present with pull policy of Never'],
])('policy %s, image present: %s, pulls %i times', async (policy, found, count, want) => {
  const it = registry(1);
  const done = it.ensure('u', 'app', { policy, found });
  await it.clock.settle();
  expect(it.pulls.map(({ image }) => image)).toEqual(Array.from({ length: count }, () => 'app:latest'));
  it.pulls[0]?.finish();
  expect(await done).toBe(want);
});

test('pulls an image once for all waiting pods, and continues if one of them stops waiting', async () => {
  const it = registry(5);
  const one = new AbortController();
  const a = it.ensure('a', 'app', { signal: one.signal });
  const b = it.ensure('b', 'app');
  await it.clock.settle();
  one.abort(new Aborted('removed'));
  expect(await a).toBe('AbortError');
  expect([it.pulls.length, it.pulls[0]?.signal?.aborted]).toEqual([1, false]);
  it.pulls[0]?.finish();
  expect(await b).toBe('sha256:1');
});

test('cancels a pull without waiters, and starts another for the next pod', async () => {
  const it = registry(1);
  const one = new AbortController();
  const a = it.ensure('a', 'app', { signal: one.signal });
  await it.clock.settle();
  one.abort(new Aborted('removed'));
  const b = a.then(() => it.ensure('b', 'app'));
  await it.clock.settle();
  expect(it.pulls.map(({ signal }) => signal?.aborted)).toEqual([true, false]);
  it.pulls[1]?.finish();
  expect(await b).toBe('sha256:1');
  expect(it.clock.pendingTimers()).toBe(0);
});

test.each([
  [1, 1],
  [2, 2],
])('with %i parallel pulls, %i of three images are in flight', async (parallel, begun) => {
  const it = registry(parallel);
  const done = ['x', 'y', 'z'].map((image) => it.ensure('u', image));
  await it.clock.settle();
  expect(it.pulls).toHaveLength(begun);
  for (let i = 0; i < 3; i++) {
    it.pulls[i]?.finish();
    await it.clock.settle();
  }
  expect(await Promise.all(done)).toEqual(['sha256:1', 'sha256:1', 'sha256:1']);
});

test.each([
  ['unknown: x', 'ErrImagePull: unknown: x'],
  [
    'RegistryUnavailable: try later',
    'RegistryUnavailable: image pull failed for app because the registry is unavailable: try later',
  ],
  [
    'SignatureValidationFailed: no key',
    'SignatureValidationFailed: image pull failed for app because the signature validation failed: no key',
  ],
])('maps the runtime error "%s"', async (message, reported) => {
  const it = registry(1);
  const done = it.ensure('u', 'app');
  await it.clock.settle();
  it.pulls[0]?.finish(new KubeletError('internal', 'UNKNOWN', message));
  expect(await done).toBe(reported);
  await it.clock.advance(3_000);
  expect(await it.ensure('u', 'app')).toBe(`ImagePullBackOff: Back-off pulling image "app": ${reported}`);
});

test('does not extend the backoff if the wall clock changes, and drops it with its pod', async () => {
  const it = scene();
  await it.ensure();
  it.clock.stepWall(-3_600_000);
  await it.clock.advance(5_000);
  expect(it.retryInMs()).toBe(5_000);
  it.manager.forget('uid-other');
  expect(it.retryInMs()).toBe(5_000);
  it.manager.forget('uid-p');
  expect(it.retryInMs()).toBeUndefined();
  await it.ensure();
  expect(it.pulls).toBe(2);
});

test('rejects with ImageInspectError if the runtime cannot inspect the image', async () => {
  const it = scene();
  const images = {
    imageStatus: () => Promise.reject(new KubeletError('internal', 'UNKNOWN', 'disk')),
    pullImage: () => Promise.reject(new Error('not called')),
  };
  const manager = anImageManager({ images, clock: it.clock });
  await expect(manager.find('app', new AbortController().signal)).rejects.toMatchObject({
    reason: 'ImageInspectError',
    message: 'Failed to inspect image "app:latest": disk',
  });
});

test('does not pull again what another pod pulled after the inspection', async () => {
  const it = registry(5);
  const first = it.ensure('a', 'app', { policy: 'IfNotPresent' });
  await it.clock.settle();
  it.pulls[0]?.finish();
  expect(await first).toBe('sha256:1');
  expect(await it.ensure('b', 'app', { policy: 'IfNotPresent' })).toBe('sha256:1');
  expect(it.pulls).toHaveLength(1);
});
