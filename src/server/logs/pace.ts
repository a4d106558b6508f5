// Adapts how many bytes of a log are processed at once: fewer if a piece blocked the event loop for long, as with a log of empty
// lines only. Invariant: between minPieceBytes and maxPieceBytes.
export const maxPieceBytes = 64 * 1024;
const minPieceBytes = 1024;
const slowMs = 4;
const quickMs = 1;

export class Pace {
  readonly #clock: { monotonic(): number };
  #bytes: number;

  constructor(clock: { monotonic(): number }, bytes = maxPieceBytes) {
    this.#clock = clock;
    this.#bytes = bytes;
  }

  /** The size of the next piece. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Processes one piece and adapts the size of the next one. */
  run<T>(work: () => T): T {
    const startMs = this.#clock.monotonic();
    const result = work();
    const tookMs = this.#clock.monotonic() - startMs;
    if (tookMs > slowMs) this.#bytes = Math.max(minPieceBytes, this.#bytes / 4);
    else if (tookMs < quickMs) this.#bytes = Math.min(maxPieceBytes, this.#bytes * 2);
    return result;
  }
}
