// One timer for the samples of all logs. Invariants: at most one timer at once, for the earliest log that is due; logs that are due
// soon after it are sampled with it, so that many busy logs do not wake the process separately.
import type { Clock, Timer } from '../base/clock.ts';

interface Due {
  /** By the monotonic clock; undefined if it waits for something else. */
  readonly dueMs: number | undefined;
}

/** How early a log may be sampled. */
const slackMs = 10;

export class SampleTimer<T extends Due> {
  readonly #clock: Clock;
  readonly #all: () => Iterable<T>;
  readonly #sample: (each: T) => void;
  #timer: { readonly dueMs: number; readonly handle: Timer } | undefined;
  #isStopped = false;

  /** `sample` sets a new dueMs, or none. */
  constructor(clock: Clock, all: () => Iterable<T>, sample: (each: T) => void) {
    this.#clock = clock;
    this.#all = all;
    this.#sample = sample;
  }

  /** A log is due at this time. */
  plan(dueMs: number): void {
    if (this.#isStopped || (this.#timer !== undefined && this.#timer.dueMs <= dueMs)) return;
    this.#timer?.handle.cancel();
    const handle = this.#clock.setTimer(Math.max(0, dueMs - this.#clock.monotonic()), () => this.#tick());
    this.#timer = { dueMs, handle };
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.handle.cancel();
    this.#timer = undefined;
  }

  #tick(): void {
    this.#timer = undefined;
    const until = this.#clock.monotonic() + slackMs;
    let earliest = Number.POSITIVE_INFINITY;
    for (const each of this.#all()) {
      if (each.dueMs !== undefined && each.dueMs <= until) this.#sample(each);
      if (each.dueMs !== undefined) earliest = Math.min(earliest, each.dueMs);
    }
    if (earliest !== Number.POSITIVE_INFINITY) this.plan(earliest);
  }
}
