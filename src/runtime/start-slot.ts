// A pod's slot among the pods that start at once. Invariants: the slot is held from the sandbox to the last container of a sync, so
// that a pod that has begun to start is not delayed between its CRI calls; while the pod waits for something other than the
// runtime (an image, a hook, an object), the slot is held for a moment only and then released for other pods.
import type { Clock, Timer } from '../base/clock.ts';
import type { Slot, Slots } from '../base/slots.ts';

/** Between two CRI calls of a start a few files are written. A longer pause means that the pod waits for something else. */
const holdMs = 250;

interface SlotRequest {
  /** Order of arrival: the lower order gets a slot first. */
  readonly order: number;
  /** The number of sandboxes and containers that the sync starts. */
  readonly steps: number;
  readonly signal: AbortSignal;
}

export class StartSlot {
  readonly #slots: Slots;
  readonly #clock: Clock;
  readonly #order: number;
  readonly #signal: AbortSignal;
  /** Steps that have not ended yet. */
  #steps: number;
  #slot: Slot | undefined;
  #holdTimer: Timer | undefined;

  constructor(slots: Slots, clock: Clock, request: SlotRequest) {
    this.#slots = slots;
    this.#clock = clock;
    this.#order = request.order;
    this.#signal = request.signal;
    this.#steps = request.steps;
  }

  /** Called before each step; `stepDone` ends the step. */
  async acquire(): Promise<void> {
    this.#holdTimer?.cancel();
    if (this.#slot?.counts !== true) this.#slot = await this.#slots.acquire(this.#order, this.#signal);
  }

  /** A step has succeeded or failed. The last one releases the slot. */
  stepDone(): void {
    this.#steps--;
    this.#holdTimer?.cancel();
    if (this.#steps <= 0) this.release();
    else this.#holdTimer = this.#clock.setTimer(holdMs, () => this.release());
  }

  /** No step follows. */
  release(): void {
    this.#holdTimer?.cancel();
    this.#slot?.release();
    this.#slot = undefined;
  }
}
