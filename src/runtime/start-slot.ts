// A pod's place among those that start. Invariants: it is kept from the sandbox to the last container of a pass, so that
// a pod that has begun is not overtaken between its calls; while the pod waits for something that is not the runtime, an
// image or a hook or an object, it is kept for a moment only, and then others may start.
import type { Clock, Timer } from '../base/clock.ts';
import type { Slot, Slots } from '../base/slots.ts';

/** Between two calls of a start there are a few files to write; who takes longer waits for somebody else. */
const keepMs = 250;

interface StartPass {
  /** Order of arrival: lower is served first. */
  readonly order: number;
  /** Sandboxes and containers that are to be made or started in it. */
  readonly steps: number;
  readonly signal: AbortSignal;
}

export class StartSlot {
  readonly #slots: Slots;
  readonly #clock: Clock;
  readonly #order: number;
  readonly #signal: AbortSignal;
  /** Heavy steps that are still to come. */
  #steps: number;
  #slot: Slot | undefined;
  #keeping: Timer | undefined;

  constructor(slots: Slots, clock: Clock, pass: StartPass) {
    this.#slots = slots;
    this.#clock = clock;
    this.#order = pass.order;
    this.#signal = pass.signal;
    this.#steps = pass.steps;
  }

  /** Before a heavy step, which `stepDone` ends. */
  async take(): Promise<void> {
    this.#keeping?.cancel();
    if (this.#slot?.counts !== true) this.#slot = await this.#slots.acquire(this.#order, this.#signal);
  }

  /** A step has ended, as it was to or not. The last one gives the place to the next pod. */
  stepDone(): void {
    this.#steps--;
    this.#keeping?.cancel();
    if (this.#steps <= 0) this.leave();
    else this.#keeping = this.#clock.setTimer(keepMs, () => this.leave());
  }

  /** No step follows. */
  leave(): void {
    this.#keeping?.cancel();
    this.#slot?.release();
    this.#slot = undefined;
  }
}
