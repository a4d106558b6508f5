import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../test/leaks/leaks.ts';
import { realClock } from './clock.ts';
import { Aborted } from './errors.ts';

describe('realClock', () => {
  let leaks: LeakCheck;
  beforeEach(() => {
    leaks = checkLeaks();
  });
  afterEach(() => leaks.assertNone());

  test('now is the wall clock, monotonic goes forward', async () => {
    const before = realClock.monotonic();
    expect(Math.abs(realClock.now() - Date.now())).toBeLessThan(1000);
    await realClock.sleep(2);
    expect(realClock.monotonic()).toBeGreaterThan(before);
  });

  test('a timer fires once, after its delay', async () => {
    const startedMs = realClock.monotonic();
    await new Promise<void>((resolve) => realClock.setTimer(20, resolve));
    expect(realClock.monotonic() - startedMs).toBeGreaterThanOrEqual(19);
  });

  test('a cancelled timer does not fire, and cancelling again is harmless', async () => {
    let fired = false;
    const timer = realClock.setTimer(1, () => {
      fired = true;
    });
    timer.cancel();
    timer.cancel();
    await realClock.sleep(5);
    expect(fired).toBe(false);
  });

  test.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])(
    'a timer of %d ms does not fire at once',
    async (ms) => {
      let fired = false;
      const timer = realClock.setTimer(ms, () => {
        fired = true;
      });
      await realClock.sleep(5);
      expect(fired).toBe(false);
      timer.cancel();
    },
  );

  test('a NaN delay is refused instead of firing at once', () => {
    expect(() => realClock.setTimer(Number.NaN, () => undefined)).toThrow(RangeError);
  });

  test('a timer keeps the process alive', () => {
    const timer = realClock.setTimer(1000, () => undefined);
    expect(process.getActiveResourcesInfo()).toContain('Timeout');
    timer.cancel();
  });
});

describe('realClock: long timers, on a simulated event loop', () => {
  const longestMs = 2 ** 31 - 1;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('are chained from pieces and fire at their time', () => {
    let fired = 0;
    realClock.setTimer(3 * longestMs, () => fired++);
    vi.advanceTimersByTime(3 * longestMs - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('can be cancelled in a later piece', () => {
    let fired = 0;
    const timer = realClock.setTimer(3 * longestMs, () => fired++);
    vi.advanceTimersByTime(2 * longestMs);
    timer.cancel();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(2 * longestMs);
    expect(fired).toBe(0);
  });
});

describe('sleep', () => {
  test('rejects with the reason when the signal is already aborted, without a timer', async () => {
    const reason = new Aborted('no');
    await expect(realClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test('rejects with the reason when aborted meanwhile, and lets go of the timer', async () => {
    const leaks = checkLeaks();
    const abort = new AbortController();
    const sleeping = realClock.sleep(60_000, abort.signal);
    abort.abort(new Aborted('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
    await leaks.assertNone();
  });

  test('removes its abort listener when it ends by itself', async () => {
    const abort = new AbortController();
    const sleeping = realClock.sleep(1, abort.signal);
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1);
    await sleeping;
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
  });
});
