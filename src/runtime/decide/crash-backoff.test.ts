import { expect, test } from 'vitest';
import { aContainer, anObservedPod, aPod, exited } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import { asContainerId } from '../../api/pod/pod-ref.ts';
import { CrashBackoff, crashLimits } from './crash-backoff.ts';

const hour = 3_600_000;
const container = aContainer();
const pod = aPod({ containers: [container] });

class Scene {
  readonly clock = new FakeClock();
  readonly backoff = new CrashBackoff(this.clock);
  #count = 0;
  #seen: ObservedPod = anObservedPod();

  /** The container ran for `ranMs` and exits now. */
  async crash(ranMs = 0): Promise<void> {
    await this.clock.advance(ranMs);
    const id = asContainerId(`c-${this.#count++}`);
    this.#seen = anObservedPod({ containers: [exited(1, { id, finishedAtMs: this.clock.now() })] });
  }

  /** The back-off in milliseconds; undefined: the container is started. */
  waitMs(of = container): number | undefined {
    return this.backoff.waitBeforeStart(pod, of, this.#seen)?.retryInMs;
  }

  /** Crashes, backs off and starts `times` times; returns the back-offs. */
  async loop(times: number, ranMs = 0): Promise<number[]> {
    const waits: number[] = [];
    for (let i = 0; i < times; i++) {
      await this.crash(ranMs);
      const wait = this.waitMs() ?? 0;
      waits.push(wait);
      await this.clock.advance(wait);
      if (wait > 0) expect(this.waitMs()).toBeUndefined();
    }
    return waits;
  }
}

test('restarts at once, then after 10 s doubling to 5 min', async () => {
  expect(await new Scene().loop(8)).toEqual([0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
});

test('counts the back-off from the exit, not from its observation', async () => {
  const it = new Scene();
  await it.loop(1);
  await it.crash();
  await it.clock.advance(4_000);
  expect(it.waitMs()).toBe(6_000);
});

test('the message names delay, container and pod', async () => {
  const it = new Scene();
  await it.loop(2);
  await it.crash();
  const seen = anObservedPod({ containers: [exited(1, { finishedAtMs: it.clock.now() })] });
  expect(it.backoff.waitBeforeStart(pod, container, seen)?.message).toBe(
    'back-off 20s restarting failed container=c pod=p_default(uid-p)',
  );
});

test('resets after ten minutes without a crash, not after nine', async () => {
  const it = new Scene();
  await it.loop(4);
  expect(await it.loop(1, 9 * 60_000)).toEqual([80_000]);
  expect(await it.loop(2, 10 * 60_000 + 1)).toEqual([0, 0]);
});

test('another image or container has its own back-off; one that never exited has none', async () => {
  const it = new Scene();
  await it.loop(3);
  await it.crash();
  expect(it.waitMs()).toBe(40_000);
  expect(it.waitMs(aContainer({ image: 'other' }))).toBeUndefined();
  expect(it.waitMs(aContainer({ name: 'other' }))).toBeUndefined();
  expect(it.backoff.waitBeforeStart(pod, container, undefined)).toBeUndefined();
});

test.each([
  ['back', -hour],
  ['forward', hour],
])('a wall clock set %s by an hour does not change a running back-off', async (_, stepMs) => {
  const it = new Scene();
  await it.loop(2);
  await it.crash();
  expect(it.waitMs()).toBe(20_000);
  it.clock.stepWall(stepMs);
  await it.clock.advance(5_000);
  expect(it.waitMs()).toBe(15_000);
  await it.clock.advance(15_000);
  expect(it.waitMs()).toBeUndefined();
});

test('a wall clock set back before the exit is observed does not prolong the back-off', async () => {
  const it = new Scene();
  await it.loop(1);
  await it.crash();
  it.clock.stepWall(-hour);
  expect(it.waitMs()).toBe(10_000);
  await it.clock.advance(10_000);
  expect(it.waitMs()).toBeUndefined();
});

test('a wall clock set forward before the exit is observed restarts at once, and the next back-off still grows', async () => {
  const it = new Scene();
  await it.loop(2);
  await it.crash();
  it.clock.stepWall(hour);
  expect(it.waitMs()).toBeUndefined();
  expect(await it.loop(1)).toEqual([40_000]);
});

test('forget resets the back-offs of one pod', async () => {
  const it = new Scene();
  await it.loop(3);
  await it.crash();
  it.backoff.forget('uid-other');
  expect(it.waitMs()).toBe(40_000);
  it.backoff.forget('uid-p');
  expect(it.waitMs()).toBeUndefined();
});

test('changed resources have their own back-off', async () => {
  const it = new Scene();
  await it.loop(3);
  await it.crash();
  expect(it.waitMs()).toBeGreaterThan(0);
  expect(it.waitMs({ ...container, resources: { limits: { memory: '1Gi' } } })).toBeUndefined();
});

test('limits by configuration and feature gates', () => {
  const limits = (longestMs: number | undefined, max: boolean, reduced: boolean) =>
    crashLimits(
      {
        crashLoopBackOff: longestMs === undefined ? {} : { maxContainerRestartPeriod: { ms: longestMs } },
      },
      { KubeletCrashLoopBackOffMax: max, ReduceDefaultCrashLoopBackOffDecay: reduced },
    );
  expect(limits(undefined, true, false)).toEqual({ initialMs: 10_000, maxMs: 300_000 });
  expect(limits(undefined, true, true)).toEqual({ initialMs: 1_000, maxMs: 60_000 });
  expect(limits(100_000, true, false)).toEqual({ initialMs: 10_000, maxMs: 100_000 });
  expect(limits(3_000, true, false)).toEqual({ initialMs: 3_000, maxMs: 3_000 });
  expect(limits(100_000, true, true)).toEqual({ initialMs: 1_000, maxMs: 100_000 });
  expect(limits(3_000, false, false)).toEqual({ initialMs: 10_000, maxMs: 300_000 });
});
