// Returns unused memory to the kernel: after pods were removed and the node was quiet for a while, and whenever the kubelet has
// grown a lot. Without that, an idle process keeps what a burst or a hostile pod made it use.
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
  /** The memory of this process. */
  readonly residentBytes: () => number;
  readonly clock: Clock;
}

/** Longer than a pod takes to terminate, and than the pause between two pods that are removed one after the other. */
const quietMs = 10_000;
/** Above what the kubelet used when it started; less is not worth a full collection, which takes some tens of milliseconds. */
const grownBytes = 32 * 1024 * 1024;
const minRestMs = 20_000;
/** On a node with many pods the memory is in use, and a collection gains nothing: each such one after the third doubles the rest. */
const maxRestMs = 600_000;
const patience = 3;
const gainBytes = 8 * 1024 * 1024;

export class MemoryTrimmer implements Component {
  readonly name = 'memory-trimmer';
  readonly wakes;
  readonly #deps: MemoryTrimmerDeps;
  #quietTimer: Timer | undefined;
  #checkTimer: Timer | undefined;
  #startBytes = 0;
  /** Collections in a row that gained nothing. */
  #futile = 0;

  constructor(deps: MemoryTrimmerDeps) {
    this.#deps = deps;
    this.wakes = [on(deps.desired.changed, (uid) => this.#changed(uid))];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#startBytes = this.#deps.residentBytes();
    this.#check();
    return { stopped: this.#stop(signal) };
  }

  async #stop(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#quietTimer?.cancel();
    this.#checkTimer?.cancel();
  }

  /** A removed pod starts the timer; any change while it runs restarts it. */
  #changed(uid: PodUid): void {
    const { clock, desired } = this.#deps;
    if (this.#quietTimer === undefined && desired.get(uid) !== undefined) return;
    this.#quietTimer?.cancel();
    this.#quietTimer = clock.setTimer(quietMs, () => {
      this.#quietTimer = undefined;
      this.#deps.trim();
    });
  }

  #check(): void {
    const { clock, residentBytes, trim } = this.#deps;
    const before = residentBytes();
    if (before - this.#startBytes >= grownBytes) {
      trim();
      this.#futile = before - residentBytes() >= gainBytes ? 0 : this.#futile + 1;
    } else {
      this.#futile = 0;
    }
    const restMs = Math.min(minRestMs * 2 ** Math.max(0, this.#futile - patience), maxRestMs);
    this.#checkTimer = clock.setTimer(restMs, () => this.#check());
  }
}
