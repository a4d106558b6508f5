import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { PodMounts } from './pod-mounts.ts';

describe('the mounts of a pod', () => {
  let clock: FakeClock;
  let mounts: PodMounts;
  let retries: number[];

  beforeEach(() => {
    clock = new FakeClock(0);
    retries = [];
    mounts = new PodMounts(aPod(), clock, {
      onRetry: () => retries.push(clock.monotonic() - startMs),
      onResolved: () => undefined,
    });
    startMs = clock.monotonic();
  });
  let startMs = 0;

  test('each failed volume is retried when its own backoff is over', async () => {
    mounts.failed('a', new Error('a'));
    await clock.advance(300);
    mounts.failed('b', new Error('b'));
    await clock.advance(10_000);
    expect(retries).toEqual([500, 800]);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('a volume that succeeds does not end the backoff of another', async () => {
    mounts.failed('a', new Error('a'));
    await clock.advance(300);
    mounts.failed('b', new Error('b'));
    await clock.advance(200);
    mounts.succeeded('a');
    await clock.advance(10_000);
    expect(retries).toEqual([500, 800]);
  });

  test('the backoff doubles with each failure', async () => {
    for (let count = 0; count < 4; count++) {
      mounts.failed('a', new Error('a'));
      await clock.advance(5_000);
    }
    expect(retries).toEqual([500, 6_000, 12_000, 19_000]);
  });

  test('nothing is retried once it is closed', async () => {
    mounts.failed('a', new Error('a'));
    await clock.until(mounts.close(1_000));
    mounts.failed('b', new Error('b'));
    expect(clock.pendingTimers()).toBe(0);
    await clock.advance(10_000);
    expect(retries).toEqual([]);
  });
});
