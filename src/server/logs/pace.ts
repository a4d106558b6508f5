// How many bytes of a log are handled at once: fewer as soon as a piece has blocked the event loop for long, as with a log of
// empty lines only. Invariant: between leastBytes and mostBytes.
export const mostBytes = 64 * 1024;
const leastBytes = 1024;
const slowMs = 4;
const quickMs = 1;

export class Pace {
  readonly #clock: { monotonic(): number };
  #bytes: number;

  constructor(clock: { monotonic(): number }, bytes = mostBytes) {
    this.#clock = clock;
    this.#bytes = bytes;
  }

  /** The size of the next piece. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Does the work on one piece and adapts the size of the next one. */
  run<T>(work: () => T): T {
    const startMs = this.#clock.monotonic();
    const result = work();
    const tookMs = this.#clock.monotonic() - startMs;
    if (tookMs > slowMs) this.#bytes = Math.max(leastBytes, this.#bytes / 4);
    else if (tookMs < quickMs) this.#bytes = Math.min(mostBytes, this.#bytes * 2);
    return result;
  }
}
