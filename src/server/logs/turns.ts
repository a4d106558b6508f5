// Shares the event loop among all who read logs, and with everything else the kubelet does: in one turn of the loop so many bytes
// are worked on over all readers, in the order in which they asked. Upstream gives every reader a thread of its own.
// Invariant: who asked first goes first; a single piece is let through however large it is.

export interface TurnsDeps {
  /** Calls back on the next turn of the event loop, after others had theirs. */
  readonly nextTurn: (fn: () => void) => void;
  readonly bytesPerTurn: number;
}

interface Asked {
  readonly bytes: number;
  readonly go: () => void;
}

export class Turns {
  readonly #deps: TurnsDeps;
  #waiting: Asked[] = [];

  constructor(deps: TurnsDeps) {
    this.#deps = deps;
  }

  /** Resolves when so many bytes may be worked on. */
  take(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ bytes, go: resolve });
      if (this.#waiting.length === 1) this.#deps.nextTurn(() => this.#letThrough());
    });
  }

  #letThrough(): void {
    let left = this.#deps.bytesPerTurn;
    let count = 0;
    for (const { bytes } of this.#waiting) {
      if (count > 0 && bytes > left) break;
      left -= bytes;
      count += 1;
    }
    const through = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    if (this.#waiting.length > 0) this.#deps.nextTurn(() => this.#letThrough());
    for (const { go } of through) go();
  }
}
