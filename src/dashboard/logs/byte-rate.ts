// Limits the bytes per second of one stream. Upstream: none.
// Invariant: never more than burst + rate × t bytes, and one piece, in the first t; what exceeds it is paid for by waiting afterwards.

interface ByteRateDeps {
  readonly clock: { monotonic(): number };
  readonly bytesPerSecond: number;
  readonly burstBytes: number;
}

export class ByteRate {
  readonly #deps: ByteRateDeps;
  #left: number;
  #filledMs: number;

  constructor(deps: ByteRateDeps) {
    this.#deps = deps;
    this.#left = deps.burstBytes;
    this.#filledMs = deps.clock.monotonic();
  }

  spend(bytes: number): void {
    this.#fill();
    this.#left -= bytes;
  }

  /** How long to wait before the next piece; 0: not at all. */
  get waitMs(): number {
    this.#fill();
    return this.#left >= 0 ? 0 : Math.ceil((-this.#left * 1_000) / this.#deps.bytesPerSecond);
  }

  #fill(): void {
    const nowMs = this.#deps.clock.monotonic();
    const { burstBytes, bytesPerSecond } = this.#deps;
    this.#left = Math.min(burstBytes, this.#left + ((nowMs - this.#filledMs) * bytesPerSecond) / 1_000);
    this.#filledMs = nowMs;
  }
}
