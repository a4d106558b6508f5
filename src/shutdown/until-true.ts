// Waits until a condition over stores holds. Invariants: the condition is evaluated at most once per turn, however many keys
// were announced; a wait that has ended leaves no subscription or timer.
import { withDeadline } from '../base/abort/deadline.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf } from '../base/errors.ts';

interface UntilOptions {
  readonly changed: Subscribable<unknown>;
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** Resolves to false if the condition did not hold in time. A condition that holds already takes no time. */
export async function untilTrue(holds: () => boolean, options: UntilOptions): Promise<boolean> {
  const { changed, clock, ms, signal } = options;
  signal.throwIfAborted();
  if (holds()) return true;
  let end = (): void => undefined;
  try {
    await withDeadline({ clock, ms, signal, what: 'the wait for a condition' }, () => {
      return new Promise<void>((resolve) => {
        let isPlanned = false;
        let hasEnded = false;
        const check = (): void => {
          isPlanned = false;
          if (!hasEnded && holds()) resolve();
        };
        const unsubscribe = changed.subscribe(() => {
          if (isPlanned) return;
          isPlanned = true;
          queueMicrotask(check);
        });
        end = () => {
          hasEnded = true;
          unsubscribe();
        };
        // What changed before the subscription.
        check();
      });
    });
    return true;
  } catch (err) {
    if (isAbortOf(err, signal)) throw err;
    return false;
  } finally {
    end();
  }
}
