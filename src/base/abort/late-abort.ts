// Gives an operation a grace period after its signal aborts. Upstream cancels at once.
// Invariants: an operation that ends within the grace period is not aborted; no timer or listener is left behind.
import type { Clock, Timer } from '../clock.ts';

interface LateAbortOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The grace period, from the abort of the signal to the abort of the operation. */
  readonly ms: number;
}

/** Runs fn with a signal that aborts `ms` after the given one. Throws without calling fn if that is aborted already. */
export async function withLateAbort<T>(
  { clock, signal, ms }: LateAbortOptions,
  fn: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const late = new AbortController();
  let timer: Timer | undefined;
  const onAbort = (): void => {
    timer = clock.setTimer(ms, () => late.abort(signal.reason));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await fn(late.signal);
  } finally {
    timer?.cancel();
    signal.removeEventListener('abort', onAbort);
  }
}
