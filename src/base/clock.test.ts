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

  test('now is the wall clock, monotonic never steps back', async () => {
    const before = realClock.monotonic();
    expect(Math.abs(realClock.now() - Date.now())).toBeLessThan(1000);
    await realClock.sleep(2);
    expect(realClock.monotonic()).toBeGreaterThan(before);
  });

  test('fires a timer once after its delay', async () => {
    const startedMs = realClock.monotonic();
    await new Promise<void>((resolve) => realClock.setTimer(20, resolve));
    expect(realClock.monotonic() - startedMs).toBeGreaterThanOrEqual(19);
  });

  test('does not fire a cancelled timer, and tolerates a second cancel', async () => {
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
    'does not fire a timer of %d ms at once',
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

  test('rejects a NaN delay instead of firing at once', () => {
    expect(() => realClock.setTimer(Number.NaN, () => undefined)).toThrow(RangeError);
  });

  test('keeps the process alive while a timer is pending', () => {
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

  test('are chained from pieces and fire when they are due', () => {
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
  test('rejects with the reason and sets no timer if the signal is already aborted', async () => {
    const reason = new Aborted('no');
    await expect(realClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test('rejects with the reason and cancels its timer on abort', async () => {
    const leaks = checkLeaks();
    const abort = new AbortController();
    const sleeping = realClock.sleep(60_000, abort.signal);
    abort.abort(new Aborted('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
    await leaks.assertNone();
  });

  test('removes its abort listener when the time is up', async () => {
    const abort = new AbortController();
    const sleeping = realClock.sleep(1, abort.signal);
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1);
    await sleeping;
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
  });
});
