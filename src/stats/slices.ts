// Work in slices, so that everything else has its turn beside a long one. Invariant: a slice ends at the first breath after
// its time is over; who never breathes is never cut.
import type { Clock } from '../base/clock.ts';

export interface SlicesDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Resolves when everything else has had its turn. */
  readonly pause: () => Promise<void>;
}

/** Short beside what a probe or a pod start may wait. */
const sliceMs = 3;

export class Slices {
  readonly #deps: SlicesDeps;
  #sinceMs: number;

  constructor(deps: SlicesDeps) {
    this.#deps = deps;
    this.#sinceMs = deps.clock.monotonic();
  }

  async yieldIfDue(): Promise<void> {
    if (this.#deps.clock.monotonic() - this.#sinceMs < sliceMs) return;
    await this.#deps.pause();
    this.#sinceMs = this.#deps.clock.monotonic();
  }
}
