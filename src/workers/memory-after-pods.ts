// Has memory given back once pods have gone and nothing has happened for a while. Upstream: none; Go's runtime does it by itself.
// differs from upstream: on a node of small machines what a hundred pods took is there again for others.
import type { PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Component } from '../base/component.ts';

interface MemoryAfterPodsDeps {
  readonly desired: {
    readonly changed: Subscribable<PodUid>;
    get(uid: PodUid): unknown;
  };
  /** Holds everything up for a moment. */
  readonly giveBack: () => void;
  readonly clock: Clock;
}

/** Longer than pods take to go, and than what comes one after the other has between it. */
const quietMs = 10_000;

export class MemoryAfterPods implements Component {
  readonly name = 'memory';
  readonly #deps: MemoryAfterPodsDeps;
  #timer: Timer | undefined;

  constructor(deps: MemoryAfterPodsDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const unsubscribe = this.#deps.desired.changed.subscribe((uid) => this.#changed(uid));
    return { stopped: this.#stop(signal, unsubscribe) };
  }

  async #stop(signal: AbortSignal, unsubscribe: () => void): Promise<void> {
    await untilAborted(signal);
    unsubscribe();
    this.#timer?.cancel();
  }

  /** Begins to wait when a pod goes, and anew with whatever happens meanwhile. */
  #changed(uid: PodUid): void {
    const { clock, desired, giveBack } = this.#deps;
    if (this.#timer === undefined && desired.get(uid) !== undefined) return;
    this.#timer?.cancel();
    this.#timer = clock.setTimer(quietMs, () => {
      this.#timer = undefined;
      giveBack();
    });
  }
}
