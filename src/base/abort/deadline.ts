// Puts a deadline on one piece of work, usually a call to the outside. Upstream: context.WithTimeout.
// Invariants: settles at the deadline or the abort even when the work ignores its signal; leaves no timer and no
// listener behind, however it ends; what the work does after that is ignored, never an unhandled rejection.
import type { Clock } from '../clock.ts';
import { KubeletError } from '../errors.ts';

interface DeadlineOptions {
  readonly clock: Clock;
  /** Infinity: no deadline, only the signal. */
  readonly ms: number;
  readonly signal?: AbortSignal | undefined;
  /** Names the work in the error: "list containers". */
  readonly what: string;
}

/**
 * Runs fn with a signal of its own. Over the deadline: KubeletError 'timeout', 'DeadlineExceeded', which is also the
 * reason of fn's signal. Aborted from outside: signal.reason. Otherwise what fn gives.
 */
export function withDeadline<T>(
  options: DeadlineOptions,
  fn: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, ms, signal, what } = options;
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = new AbortController();
    const giveUp = (reason: unknown): void => {
      cleanUp();
      reject(reason);
      abort.abort(reason);
    };
    const onAbort = (): void => giveUp(signal?.reason);
    const timer = clock.setTimer(ms, () => giveUp(deadlineExceeded(what, ms)));
    const cleanUp = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    callNow(fn, abort.signal).finally(cleanUp).then(resolve, reject);
  });
}

/** So that fn throwing at once is the same as fn rejecting. */
async function callNow<T>(fn: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return fn(signal);
}

function deadlineExceeded(what: string, ms: number): KubeletError {
  return new KubeletError('timeout', 'DeadlineExceeded', `${what} did not finish within ${ms} ms`, {
    details: { what, ms },
  });
}
