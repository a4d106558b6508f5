import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { KubeletError } from '../base/errors.ts';
import { ImageServiceCheck } from './image-service-check.ts';

test('reports the result of the last call, and calls once at a time', async () => {
  const calls: { end: (err?: Error) => void }[] = [];
  const imageFsInfo = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      calls.push({ end: (err) => (err === undefined ? resolve({}) : reject(err)) });
    });
  const images = new ImageServiceCheck({ imageFsInfo, requestTimeoutMs: () => 120_000 });
  const clock = new FakeClock();
  expect(images.check()).toBeUndefined();
  expect(images.check()).toBeUndefined();
  expect(calls).toHaveLength(1);
  calls[0]?.end(new KubeletError('unavailable', 'Down', 'connect ENOENT /run/nope.sock'));
  await clock.settle();
  expect(images.check()).toBe('the image service is unavailable: connect ENOENT /run/nope.sock');
  expect(calls).toHaveLength(2);
  calls[1]?.end();
  await clock.settle();
  expect(images.check()).toBeUndefined();
});

test('waits no longer than any call may take, and at most ten seconds', () => {
  const waits: number[] = [];
  const imageFsInfo = async (_: object, { timeoutMs }: { readonly timeoutMs: number }): Promise<void> =>
    void waits.push(timeoutMs);
  for (const ms of [120_000, 1]) new ImageServiceCheck({ imageFsInfo, requestTimeoutMs: () => ms }).check();
  expect(waits).toEqual([10_000, 1]);
});
