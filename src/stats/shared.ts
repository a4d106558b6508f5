// One result for all who ask within a while. Invariants: one making at a time; a result counts from when its making began; a
// failure is told to those who waited for it and not kept.
import type { Clock } from '../base/clock.ts';

interface Made<T> {
  readonly atMs: number;
  readonly result: Promise<T>;
}

export class Shared<T> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #goodForMs: number;
  readonly #make: () => Promise<T>;
  #made: Made<T> | undefined;
  #isMaking = false;

  constructor(clock: Pick<Clock, 'monotonic'>, goodForMs: number, make: () => Promise<T>) {
    this.#clock = clock;
    this.#goodForMs = goodForMs;
    this.#make = make;
  }

  /** `within`: how old it may be, when that is less than usual. */
  get(within = this.#goodForMs): Promise<T> {
    const made = this.#made;
    if (made !== undefined && (this.#isMaking || this.#clock.monotonic() - made.atMs < within))
      return made.result;
    this.#isMaking = true;
    const fresh: Made<T> = { atMs: this.#clock.monotonic(), result: this.#run() };
    this.#made = fresh;
    fresh.result.catch(() => {
      if (this.#made === fresh) this.#made = undefined;
    });
    return fresh.result;
  }

  async #run(): Promise<T> {
    try {
      return await this.#make();
    } finally {
      this.#isMaking = false;
    }
  }
}
