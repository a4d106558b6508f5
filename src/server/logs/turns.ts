// Limits how many bytes all readers of logs process in one turn of the event loop, so that the rest of the kubelet keeps
// running. Upstream gives every reader a goroutine.
// Invariant: first come, first served; a single piece is granted however large it is.

export interface TurnsDeps {
  /** Calls back on the next turn of the event loop, after other work. */
  readonly nextTurn: (fn: () => void) => void;
  readonly bytesPerTurn: number;
}

interface PendingRead {
  readonly bytes: number;
  readonly resolve: () => void;
}

export class Turns {
  readonly #deps: TurnsDeps;
  #waiting: PendingRead[] = [];

  constructor(deps: TurnsDeps) {
    this.#deps = deps;
  }

  /** Resolves when `bytes` may be processed. */
  take(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ bytes, resolve });
      if (this.#waiting.length === 1) this.#deps.nextTurn(() => this.#grant());
    });
  }

  #grant(): void {
    let left = this.#deps.bytesPerTurn;
    let count = 0;
    for (const { bytes } of this.#waiting) {
      if (count > 0 && bytes > left) break;
      left -= bytes;
      count += 1;
    }
    const granted = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    if (this.#waiting.length > 0) this.#deps.nextTurn(() => this.#grant());
    for (const { resolve } of granted) resolve();
  }
}
