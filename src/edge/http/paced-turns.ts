// Runs work for clients that are not admitted in a bounded share of the event loop's time: one piece per turn of the loop, each
// followed by a pause in proportion to its duration. Other work runs in between. Callers bound the queue.

export class PacedTurns {
  readonly #share: number;
  readonly #queue: (() => void)[] = [];
  #dueMs = 0;
  #scheduled = false;

  constructor(share: number) {
    this.#share = share;
  }

  /** Calls `work` now or when its turn comes. Only its synchronous part is measured. */
  run(work: () => void): void {
    if (this.#scheduled || performance.now() < this.#dueMs) {
      this.#queue.push(work);
      this.#schedule();
    } else this.#work(work);
  }

  #work(work: () => void): void {
    const beganMs = performance.now();
    try {
      work();
    } finally {
      const nowMs = performance.now();
      this.#dueMs = nowMs + (nowMs - beganMs) * (1 / this.#share - 1);
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const waitMs = this.#dueMs - performance.now();
    const next = (): void => {
      this.#scheduled = false;
      const work = this.#queue.shift();
      if (work === undefined) return;
      try {
        this.#work(work);
      } finally {
        if (this.#queue.length > 0) this.#schedule();
      }
    };
    if (waitMs < 1) setImmediate(next);
    else setTimeout(next, waitMs);
  }
}
