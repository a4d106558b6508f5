// Returns unused memory to the kernel after pods were removed and the node was quiet for a while.
// Upstream: none; Go's runtime does it by itself.
// differs from upstream: on a small machine the memory that a hundred pods took is free for others again.
import type { PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { type Component, on } from '../base/component.ts';

interface MemoryTrimmerDeps {
  readonly desired: {
    readonly changed: Subscribable<PodUid>;
    get(uid: PodUid): unknown;
  };
  /** Blocks the event loop for a moment. */
  readonly trim: () => void;
  readonly clock: Clock;
}

/** Longer than a pod takes to terminate, and than the pause between two pods that are removed one after the other. */
const quietMs = 10_000;

export class MemoryTrimmer implements Component {
  readonly name = 'memory-trimmer';
  readonly wakes;
  readonly #deps: MemoryTrimmerDeps;
  #timer: Timer | undefined;

  constructor(deps: MemoryTrimmerDeps) {
    this.#deps = deps;
    this.wakes = [on(deps.desired.changed, (uid) => this.#changed(uid))];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return { stopped: this.#stop(signal) };
  }

  async #stop(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#timer?.cancel();
  }

  /** A removed pod starts the timer; any change while it runs restarts it. */
  #changed(uid: PodUid): void {
    const { clock, desired, trim } = this.#deps;
    if (this.#timer === undefined && desired.get(uid) !== undefined) return;
    this.#timer?.cancel();
    this.#timer = clock.setTimer(quietMs, () => {
      this.#timer = undefined;
      trim();
    });
  }
}
