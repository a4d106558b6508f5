import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Aborted, KubeletError } from '../errors.ts';
import { withDeadline } from './deadline.ts';

const never = new Promise<never>(() => undefined);

function setUp() {
  const clock = new FakeClock();
  const abort = new AbortController();
  const seen: { signal?: AbortSignal } = {};
  const start = <T>(ms: number, result: Promise<T> | (() => Promise<T>)): Promise<T> =>
    withDeadline({ clock, ms, signal: abort.signal, what: 'list containers' }, (signal) => {
      seen.signal = signal;
      return typeof result === 'function' ? result() : result;
    });
  const left = (): number[] => [clock.pendingTimers(), getEventListeners(abort.signal, 'abort').length];
  return { clock, abort, seen, start, left };
}

describe('withDeadline', () => {
  test('resolves with the result of the operation and leaves nothing behind', async () => {
    const { start, left, seen } = setUp();
    expect(await start(100, Promise.resolve(7))).toBe(7);
    expect(left()).toEqual([0, 0]);
    expect(seen.signal?.aborted).toBe(false);
  });

  test('rejects with the error of the operation and leaves nothing behind', async () => {
    const { start, left } = setUp();
    const err = new Error('no');
    await expect(start(100, Promise.reject(err))).rejects.toBe(err);
    expect(left()).toEqual([0, 0]);
  });

  test('rejects if the operation throws synchronously', async () => {
    const { start, left } = setUp();
    const work = start(100, () => {
      throw new Error('at once');
    });
    await expect(work).rejects.toThrow('at once');
    expect(left()).toEqual([0, 0]);
  });

  test('rejects with a timeout at the deadline even if the operation ignores its signal', async () => {
    const { clock, start, left, seen } = setUp();
    const work = start(100, never);
    const outcome = work.catch((err: unknown) => err);
    await clock.advance(99);
    expect(seen.signal?.aborted).toBe(false);
    await clock.advance(1);
    const err = await outcome;
    expect(err).toBeInstanceOf(KubeletError);
    expect(err).toMatchObject({
      kind: 'timeout',
      reason: 'DeadlineExceeded',
      message: 'list containers did not finish within 100 ms',
      details: { what: 'list containers', ms: 100 },
    });
    expect(seen.signal?.reason).toBe(err);
    expect(left()).toEqual([0, 0]);
  });

  test('rejects with the reason of the abort even if the operation ignores its signal', async () => {
    const { abort, start, left, seen } = setUp();
    const work = start(100, never);
    const reason = new Aborted('stopping');
    abort.abort(reason);
    await expect(work).rejects.toBe(reason);
    expect(seen.signal?.reason).toBe(reason);
    expect(left()).toEqual([0, 0]);
  });

  test('keeps the reason of the abort whatever the operation rejects with', async () => {
    const clock = new FakeClock();
    const work = withDeadline({ clock, ms: 5, what: 'x' }, (signal) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('my own words')));
      });
    });
    const outcome = expect(work).rejects.toMatchObject({ reason: 'DeadlineExceeded' });
    await clock.advance(5);
    await outcome;
  });

  test('does not start the operation if the signal is aborted already', async () => {
    let begun = false;
    const work = withDeadline(
      { clock: new FakeClock(), ms: 5, signal: AbortSignal.abort(new Aborted('x')), what: 'x' },
      async () => {
        begun = true;
      },
    );
    await expect(work).rejects.toThrow('x');
    expect(begun).toBe(false);
  });

  test('sets no timer for an infinite deadline', async () => {
    const { abort, start, left } = setUp();
    const work = start(Number.POSITIVE_INFINITY, never);
    expect(left()).toEqual([0, 1]);
    abort.abort(new Aborted('x'));
    await expect(work).rejects.toThrow('x');
  });

  test('does not leave an unhandled rejection if the operation fails after the deadline', async () => {
    const { clock, start } = setUp();
    const unhandled: unknown[] = [];
    const note = (err: unknown): void => void unhandled.push(err);
    process.on('unhandledRejection', note);
    const work = start(5, () => clock.sleep(10).then(() => Promise.reject(new Error('late'))));
    const outcome = expect(work).rejects.toMatchObject({ reason: 'DeadlineExceeded' });
    await clock.advance(20);
    await outcome;
    await clock.settle();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});
