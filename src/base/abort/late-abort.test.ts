import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Aborted } from '../errors.ts';
import { withLateAbort } from './late-abort.ts';
import { untilAborted } from './race-abort.ts';

function bench() {
  const clock = new FakeClock();
  const asker = new AbortController();
  return { clock, asker, options: { clock, signal: asker.signal, ms: 2_000 } };
}

describe('withLateAbort', () => {
  test('resolves with the result of the operation and leaves no timer', async () => {
    const { clock, options } = bench();
    expect(await withLateAbort(options, async (signal) => signal.aborted)).toBe(false);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('does not abort an operation that ends within the grace period', async () => {
    const { clock, asker, options } = bench();
    const work = withLateAbort(options, async (signal) => {
      await clock.sleep(1_999);
      return signal.aborted;
    });
    asker.abort(new Aborted('enough'));
    await clock.advance(1_999);
    expect(await work).toBe(false);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('aborts a longer operation with the reason of the signal', async () => {
    const { clock, asker, options } = bench();
    let reason: unknown;
    const work = withLateAbort(options, async (signal) => {
      await untilAborted(signal);
      reason = signal.reason;
      throw reason;
    });
    const outcome = expect(work).rejects.toThrow('enough');
    const enough = new Aborted('enough');
    asker.abort(enough);
    await clock.advance(2_000);
    await outcome;
    expect(reason).toBe(enough);
  });

  test('does not start the operation if the signal is aborted already', async () => {
    const { asker, options } = bench();
    asker.abort(new Aborted('enough'));
    let begun = false;
    const work = withLateAbort(options, async () => {
      begun = true;
    });
    await expect(work).rejects.toThrow('enough');
    expect(begun).toBe(false);
  });
});
