// Lets work that is nearly done finish although whoever asked for it has given up. Upstream: none, it cuts off at once.
// Invariants: work that ends within the time is not disturbed; no timer and no listener stays behind, however it ends.
import type { Clock, Timer } from '../clock.ts';

interface LateAbortOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** From the signal's abort to that of the work. */
  readonly ms: number;
}

/** Runs fn with a signal that follows the given one after a while. Nothing is begun once that is aborted. */
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
