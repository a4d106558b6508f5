import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { silentLogger } from '../base/log/log.ts';
import { type PullRequest, pullLimits, SharedPulls } from './shared-pulls.ts';

function scene(): { readonly clock: FakeClock; readonly pulls: SharedPulls; count: number } {
  const clock = new FakeClock();
  const images = {
    pullImage: async () => {
      it.count += 1;
      return { imageRef: 'sha256:1' };
    },
    imageStatus: async () => ({ image: undefined, info: {} }),
  };
  const limits = { parallelPulls: 1, pullQps: 0, pullBurst: 1 };
  const it = { clock, pulls: new SharedPulls({ images, clock, log: silentLogger, limits }), count: 0 };
  return it;
}
const request: PullRequest = {
  image: 'app:1',
  annotations: {},
  sandboxConfig: {},
  runtimeClass: '',
  credentials: [],
};
const { signal } = new AbortController();

test('reuses a pull that completed after the image was found missing, but not an older one', async () => {
  const it = scene();
  await it.clock.advance(1_000);
  await it.pulls.pull(request, it.clock.monotonic(), signal);
  await it.pulls.pull(request, it.clock.monotonic(), signal);
  expect(it.count).toBe(1);
  await it.clock.advance(1);
  await it.pulls.pull(request, it.clock.monotonic(), signal);
  expect(it.count).toBe(2);
});

test.each<[string, Partial<PullRequest>, number]>([
  ['the same', {}, 1],
  ['annotations of another pod', { annotations: { a: 'b' } }, 1],
  ['another tag', { image: 'app:2' }, 2],
  ['another runtime class', { runtimeClass: 'kata' }, 2],
])('a second request with %s makes %i pulls in total', async (_, over, count) => {
  const it = scene();
  await Promise.all([it.pulls.pull(request, 0, signal), it.pulls.pull({ ...request, ...over }, 0, signal)]);
  expect(it.count).toBe(count);
});

test.each([
  [{ serializeImagePulls: true, maxParallelImagePulls: 5 }, 1],
  [{ serializeImagePulls: false, maxParallelImagePulls: 5 }, 5],
  [{ serializeImagePulls: false }, Number.MAX_SAFE_INTEGER],
])('pullLimits: %o allows %i parallel pulls', (config, parallelPulls) => {
  expect(pullLimits({ ...config, registryPullQPS: 5, registryBurst: 10 })).toEqual({
    parallelPulls,
    pullQps: 5,
    pullBurst: 10,
  });
});
