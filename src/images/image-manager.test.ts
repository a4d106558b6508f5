import { expect, test } from 'vitest';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ImageManager, type PresentImage } from './image-manager.ts';

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
      if (it.fails) throw new KubeletError('internal', 'UNKNOWN', 'registry says no');
      return { imageRef: 'sha256:1' };
    },
    imageStatus: async () =>
      ({ image: { id: 'sha256:1', username: '', uid: { value: 5n } }, info: {} }) as never,
  };
  const manager = new ImageManager({ images, clock, log: silentLogger, parallelPulls: 1 });
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

const failed = 'ErrImagePull: registry says no';
const waits = 'ImagePullBackOff: Back-off pulling image "example.com/app": ErrImagePull: registry says no';

test('a failed pull is told as such for two seconds, then as a back-off, and tried again after ten', async () => {
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

test('after a success nothing is remembered of the failure', async () => {
  const it = scene();
  await it.ensure();
  it.fails = false;
  await it.clock.advance(10_000);
  expect(await it.ensure()).toEqual({ ref: 'sha256:1', uid: 5n, username: '' });
  expect(it.retryInMs()).toBeUndefined();
});

test('a name that no registry could serve is no reason to throw when asked for the next attempt', async () => {
  const it = scene();
  expect(it.retryInMs('Not/A/Name')).toBeUndefined();
  await expect(it.manager.find('Not/A/Name', new AbortController().signal)).rejects.toMatchObject({
    reason: 'InvalidImageName',
  });
});
