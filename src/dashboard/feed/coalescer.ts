// Runs work at most once per period, however often it is requested. Invariants: runs do not overlap; a request during a run leads to
// another run; nothing runs after stop().
import type { Clock, Timer } from '../../base/clock.ts';

interface CoalescerDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly periodMs: number;
  /** Never rejects. */
  readonly run: () => Promise<void>;
}

export class Coalescer {
  readonly #deps: CoalescerDeps;
  #timer: Timer | undefined;
  #isRunning = false;
  #isRequested = false;
  #isStopped = false;
  #beganMs = Number.NEGATIVE_INFINITY;

  constructor(deps: CoalescerDeps) {
    this.#deps = deps;
  }

  poke(): void {
    this.#isRequested = true;
    this.#arm();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    const { clock, periodMs } = this.#deps;
    if (this.#isStopped || this.#isRunning || this.#timer !== undefined || !this.#isRequested) return;
    const waitMs = Math.max(0, this.#beganMs + periodMs - clock.monotonic());
    this.#timer = clock.setTimer(waitMs, () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#isRequested = false;
    this.#isRunning = true;
    this.#beganMs = this.#deps.clock.monotonic();
    await this.#deps.run();
    this.#isRunning = false;
    this.#arm();
  }
}
