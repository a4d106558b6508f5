// Puts a deadline on one operation, usually a call outside the process. Upstream: context.WithTimeout.
// Invariants: settles at the deadline or on abort even if the operation ignores its signal; leaves no timer or listener behind;
// the outcome of an operation that was given up is ignored and never becomes an unhandled rejection.
import type { Clock } from '../clock.ts';
import { KubeletError } from '../errors.ts';

interface DeadlineOptions {
  readonly clock: Clock;
  /** Infinity disables the deadline; the signal still applies. */
  readonly ms: number;
  readonly signal?: AbortSignal | undefined;
  /** Names the operation in the error: "list containers". */
  readonly what: string;
}

/**
 * Runs fn with its own signal and settles as fn does. At the deadline it rejects with a KubeletError ('timeout',
 * 'DeadlineExceeded'), which is also the reason of fn's signal. If the given signal aborts, it rejects with signal.reason.
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

/** Turns a synchronous throw of fn into a rejection. */
async function callNow<T>(fn: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return fn(signal);
}

function deadlineExceeded(what: string, ms: number): KubeletError {
  return new KubeletError('timeout', 'DeadlineExceeded', `${what} did not finish within ${ms} ms`, {
    details: { what, ms },
  });
}
