import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Aborted } from '../errors.ts';
import { raceAbort, untilAborted } from './race-abort.ts';

const never = new Promise<never>(() => undefined);

describe('raceAbort', () => {
  test.each([
    ['its value', () => Promise.resolve(7), { value: 7 }],
    ['its error', () => Promise.reject(new Error('no')), { error: 'no' }],
  ])('gives %s, and leaves no listener', async (_name, work, want) => {
    const { signal } = new AbortController();
    const outcome = await raceAbort<number>(work(), signal).then(
      (value) => ({ value }),
      (err: Error) => ({ error: err.message }),
    );
    expect(outcome).toEqual(want);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('rejects with the reason as soon as the signal is aborted', async () => {
    const abort = new AbortController();
    const racing = raceAbort(never, abort.signal);
    const reason = new Aborted('enough');
    abort.abort(reason);
    await expect(racing).rejects.toBe(reason);
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
  });

  test.each(['before', 'during'])(
    'aborted %s: a later failure leaves no unhandled rejection',
    async (when) => {
      const unhandled: unknown[] = [];
      const note = (err: unknown): void => void unhandled.push(err);
      process.on('unhandledRejection', note);
      const clock = new FakeClock();
      const abort = new AbortController();
      const reason = new Aborted('enough');
      const work = clock.sleep(5).then(() => Promise.reject(new Error('late')));
      if (when === 'before') abort.abort(reason);
      const racing = expect(raceAbort(work, abort.signal)).rejects.toBe(reason);
      abort.abort(reason);
      await racing;
      await clock.advance(5);
      process.off('unhandledRejection', note);
      expect(unhandled).toEqual([]);
    },
  );
});

describe('untilAborted', () => {
  test('resolves at once for an aborted signal', async () => {
    await expect(untilAborted(AbortSignal.abort())).resolves.toBeUndefined();
  });

  test('resolves on abort and not earlier', async () => {
    const abort = new AbortController();
    let done = false;
    const waiting = untilAborted(abort.signal).finally(() => {
      done = true;
    });
    await new FakeClock().settle();
    expect(done).toBe(false);
    abort.abort();
    await waiting;
    expect(done).toBe(true);
  });
});
