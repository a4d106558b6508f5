// The calls to other processes that have not returned, so that a hanging one can be named. No counterpart upstream.
// Invariants: a call is listed from begin() to end(); each costs one small object and an entry of a set, nothing per time unit; calls
// that stay open by design (watches, event streams) are not begun, so that they do not look as if they hung.
import type { Clock } from './clock.ts';

type CallTarget = 'runtime' | 'images' | 'api-server' | 'csi' | 'plugin';

interface ListedCall {
  readonly to: CallTarget;
  readonly method: string;
  /** By the wall clock. */
  readonly sinceMs: number;
  readonly deadlineMs?: number;
}

/** Records the calls of a client. */
export type CallRecorder = Pick<InFlightCalls, 'begin'>;

const maxListed = 100;
const maxMethodLength = 200;

class RecordedCall {
  readonly to: CallTarget;
  readonly method: string;
  /** By the monotonic clock, so that a change of the wall clock does not make a call old. */
  readonly startMs: number;
  readonly timeoutMs: number;
  readonly #calls: Set<RecordedCall>;

  constructor(calls: Set<RecordedCall>, to: CallTarget, method: string, startMs: number, timeoutMs: number) {
    this.#calls = calls;
    this.to = to;
    this.method = method;
    this.startMs = startMs;
    this.timeoutMs = timeoutMs;
    calls.add(this);
  }

  end(): void {
    this.#calls.delete(this);
  }
}

export class InFlightCalls {
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>;
  /** In the order in which they began. */
  readonly #calls = new Set<RecordedCall>();

  constructor(clock: Pick<Clock, 'monotonic' | 'now'>) {
    this.#clock = clock;
  }

  /** `timeoutMs`: Infinity for a call without a deadline. */
  begin(to: CallTarget, method: string, timeoutMs: number): { end(): void } {
    return new RecordedCall(this.#calls, to, method, this.#clock.monotonic(), timeoutMs);
  }

  /** The oldest calls first, at most 100. */
  list(): readonly ListedCall[] {
    const offsetMs = this.#clock.now() - this.#clock.monotonic();
    const listed: ListedCall[] = [];
    for (const { method, startMs, timeoutMs, to } of this.#calls) {
      if (listed.length === maxListed) break;
      const sinceMs = Math.round(startMs + offsetMs);
      const deadline = Number.isFinite(timeoutMs) ? { deadlineMs: sinceMs + timeoutMs } : {};
      listed.push({ to, method: method.slice(0, maxMethodLength), sinceMs, ...deadline });
    }
    return listed;
  }
}
