// Splits long synchronous work into time slices, so that it does not block the event loop. Invariant: a slice ends at the
// first `yieldIfDue` after its time; without such calls the work is never interrupted.
import type { Clock } from './clock.ts';

export interface SlicesDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Resolves after other pending work has run. */
  readonly pause: () => Promise<void>;
  /** Default: short compared with the latency that a probe or a pod start tolerates. */
  readonly sliceMs?: number;
}

const defaultSliceMs = 3;

export class Slices {
  readonly #deps: SlicesDeps;
  #sliceStartMs: number;

  constructor(deps: SlicesDeps) {
    this.#deps = deps;
    this.#sliceStartMs = deps.clock.monotonic();
  }

  async yieldIfDue(): Promise<void> {
    const { clock, sliceMs = defaultSliceMs } = this.#deps;
    if (clock.monotonic() - this.#sliceStartMs < sliceMs) return;
    await this.#deps.pause();
    this.#sliceStartMs = this.#deps.clock.monotonic();
  }
}
