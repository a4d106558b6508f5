// The only source of time. Everything else takes a Clock, so that tests decide what time it is and two kubelets
// can live in one process. Upstream: k8s.io/utils/clock.
// Invariant: a timer fires at most once and never after cancel(). The real one counts whole milliseconds of the event loop,
// so it may fire a fraction of one early: who needs the exact moment compares monotonic() and waits for the rest.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall clock, milliseconds since the epoch. May step, forwards or back: for timestamps only. */
  now(): number;
  /** Milliseconds from an arbitrary start; never steps back. For measuring and for deadlines. */
  monotonic(): number;
  /** Calls fn once, after ms (0 or less: on the next turn; Infinity: never). */
  setTimer(ms: number, fn: () => void): Timer;
  /** Resolves after ms, or rejects with signal.reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A longer delay makes Node fire after 1 ms, with a warning; longer timers are chained from pieces of this size. */
const longestNodeTimerMs = 2 ** 31 - 1;

const neverTimer: Timer = { cancel: () => undefined };

/** A NaN delay would fire at once, which turns an arithmetic slip into a hot loop. */
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

/** sleep() in terms of setTimer(), for every Clock. Leaves neither timer nor abort listener behind, however it ends. */
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
