// The only source of time. Everything else takes a Clock, so that tests control time and two kubelets can share a process.
// Upstream: k8s.io/utils/clock.
// Invariant: a timer fires at most once and never after cancel(). The real clock counts whole milliseconds of the event loop,
// so a timer may fire a fraction of a millisecond early: callers that need the exact moment check monotonic() and wait on.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall clock in milliseconds since the epoch. It may step forwards or back: for timestamps only. */
  now(): number;
  /** Milliseconds from an arbitrary start; never steps back. For durations and deadlines. */
  monotonic(): number;
  /** Calls fn once after ms. 0 or less means the next turn of the event loop, Infinity never. */
  setTimer(ms: number, fn: () => void): Timer;
  /** Resolves after ms, or rejects with signal.reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Node fires a longer timer after 1 ms, with a warning, so longer timers are chained from pieces of this size. */
const longestNodeTimerMs = 2 ** 31 - 1;

const neverTimer: Timer = { cancel: () => undefined };

/** A NaN delay would fire at once and turn an arithmetic mistake into a hot loop. */
export function checkDelay(ms: number): void {
  if (Number.isNaN(ms)) throw new RangeError('timer delay is not a number');
}

function setRealTimer(ms: number, fn: () => void): Timer {
  checkDelay(ms);
  if (ms === Number.POSITIVE_INFINITY) return neverTimer;
  if (ms <= longestNodeTimerMs) {
    const handle = setTimeout(fn, ms);
    return { cancel: () => clearTimeout(handle) };
  }
  return chainTimer(performance.now() + ms, fn);
}

function chainTimer(dueMs: number, fn: () => void): Timer {
  let handle: NodeJS.Timeout;
  const arm = (): void => {
    const leftMs = dueMs - performance.now();
    handle = leftMs <= longestNodeTimerMs ? setTimeout(fn, leftMs) : setTimeout(arm, longestNodeTimerMs);
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}

/** Implements sleep() with setTimer(), for every Clock. Leaves no timer or abort listener behind. */
export function sleepWith(
  clock: Pick<Clock, 'setTimer'>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: setRealTimer,
  sleep: (ms, signal) => sleepWith(realClock, ms, signal),
};
