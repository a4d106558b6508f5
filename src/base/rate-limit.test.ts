import { getEventListeners } from 'node:events';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Aborted } from './errors.ts';
import { TokenBucket } from './rate-limit.ts';

function setUp(qps: number, burst: number) {
  const clock = new FakeClock();
  const bucket = new TokenBucket({ clock, qps, burst });
  const got: [name: string, atMs: number][] = [];
  const take = (name: string, signal?: AbortSignal): Promise<void> =>
    bucket.take(signal).then(() => {
      got.push([name, clock.monotonic()]);
      return undefined;
    });
  return { clock, bucket, got, take };
}

describe('TokenBucket', () => {
  test('grants the burst at once, then nothing until time passes', async () => {
    const { clock, bucket } = setUp(10, 3);
    expect([1, 2, 3, 4].map(() => bucket.tryTake())).toEqual([true, true, true, false]);
    await clock.advance(99);
    expect(bucket.tryTake()).toBe(false);
    await clock.advance(1);
    expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
  });

  test('accumulates no more than the burst', async () => {
    const { clock, bucket } = setUp(10, 2);
    await clock.advance(3_600_000);
    expect([1, 2, 3].map(() => bucket.tryTake())).toEqual([true, true, false]);
  });

  test('serves waiting callers in order, at the rate', async () => {
    const { clock, got, take } = setUp(10, 1);
    for (const name of ['a', 'b', 'c']) void take(name);
    await clock.advance(1000);
    expect(got).toEqual([
      ['a', 0],
      ['b', 100],
      ['c', 200],
    ]);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('keeps the average rate if the interval is not a whole number', async () => {
    const { clock, got, take } = setUp(3, 1);
    for (let i = 0; i < 31; i++) void take(String(i));
    await clock.advance(10_010);
    expect(got).toHaveLength(31);
    expect(got.at(-1)?.[1]).toBeGreaterThanOrEqual(10_000);
  });

  test('tryTake does not overtake waiting callers', async () => {
    const { clock, bucket, got, take } = setUp(10, 1);
    bucket.tryTake();
    let overtook = true;
    // Fires in the same millisecond as the bucket's own timer, and before it.
    clock.setTimer(100, () => {
      overtook = bucket.tryTake();
    });
    void take('a');
    await clock.advance(100);
    expect(overtook).toBe(false);
    expect(got).toEqual([['a', 100]]);
  });

  test('removes an aborted waiter without spending a token', async () => {
    const { clock, bucket, got, take } = setUp(10, 1);
    bucket.tryTake();
    const abort = new AbortController();
    const waiting = take('a', abort.signal);
    void take('b');
    await clock.advance(50);
    const reason = new Aborted('no longer');
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await clock.advance(50);
    expect(got).toEqual([['b', 100]]);
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
  });

  test('leaves no timer when the last waiter is aborted', async () => {
    const { clock, bucket, take } = setUp(10, 1);
    bucket.tryTake();
    const abort = new AbortController();
    const waiting = take('a', abort.signal);
    expect(clock.pendingTimers()).toBe(1);
    abort.abort(new Aborted('x'));
    await expect(waiting).rejects.toThrow('x');
    expect(clock.pendingTimers()).toBe(0);
    await clock.advance(100);
    expect(bucket.tryTake()).toBe(true);
  });

  test('takes no token if the signal is aborted already', async () => {
    const { bucket, take } = setUp(10, 1);
    await expect(take('a', AbortSignal.abort(new Aborted('x')))).rejects.toThrow('x');
    expect(bucket.tryTake()).toBe(true);
  });

  test('removes its abort listener when the token is granted', async () => {
    const { clock, bucket, take } = setUp(10, 1);
    bucket.tryTake();
    const abort = new AbortController();
    void take('a', abort.signal);
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1);
    await clock.advance(100);
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
  });

  test.each([0, -1])('qps %d is unlimited', async (qps) => {
    const { bucket, clock, take } = setUp(qps, 1);
    for (let i = 0; i < 1000; i++) expect(bucket.tryTake()).toBe(true);
    await take('a');
    expect(clock.pendingTimers()).toBe(0);
  });

  test('treats a burst of 0 as 1', async () => {
    const { bucket, clock } = setUp(1, 0);
    expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
    await clock.advance(1000);
    expect(bucket.tryTake()).toBe(true);
  });

  test('never grants more than burst + qps × t, and serves every caller', async () => {
    const params = fc.record({
      qps: fc.integer({ min: 1, max: 200 }),
      burst: fc.integer({ min: 1, max: 10 }),
      gapsMs: fc.array(fc.nat({ max: 30 }), { maxLength: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(params, async ({ qps, burst, gapsMs }) => {
        const { clock, got, take } = setUp(qps, burst);
        for (const [index, gapMs] of gapsMs.entries()) {
          void take(String(index));
          await clock.advance(gapMs);
        }
        await clock.advance(gapsMs.length * 1000);
        expect(got.map(([name]) => name)).toEqual(gapsMs.map((_, index) => String(index)));
        for (const [index, [, atMs]] of got.entries())
          expect(index + 1).toBeLessThanOrEqual(burst + (qps * atMs) / 1000 + 1e-6);
      }),
      { numRuns: 50 },
    );
  });
});
