// Shares one asynchronous result among callers for a while. Invariants: one computation at a time; a result's age counts
// from the start of its computation; a failure is returned to the callers that waited for it and is not cached.
import type { Clock } from '../base/clock.ts';

interface Result<T> {
  readonly atMs: number;
  readonly result: Promise<T>;
}

export class Shared<T> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #maxAgeMs: number;
  readonly #compute: () => Promise<T>;
  #latest: Result<T> | undefined;
  #isComputing = false;

  constructor(clock: Pick<Clock, 'monotonic'>, maxAgeMs: number, compute: () => Promise<T>) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#compute = compute;
  }

  /** `withinMs`: the maximum age, if lower than the default. */
  get(withinMs = this.#maxAgeMs): Promise<T> {
    const latest = this.#latest;
    if (latest !== undefined && (this.#isComputing || this.#clock.monotonic() - latest.atMs < withinMs))
      return latest.result;
    this.#isComputing = true;
    const fresh: Result<T> = { atMs: this.#clock.monotonic(), result: this.#run() };
    this.#latest = fresh;
    fresh.result.catch(() => {
      if (this.#latest === fresh) this.#latest = undefined;
    });
    return fresh.result;
  }

  async #run(): Promise<T> {
    try {
      return await this.#compute();
    } finally {
      this.#isComputing = false;
    }
  }
}
