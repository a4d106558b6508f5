// Finds what pods of an earlier life left on the node's disk although no runtime knows of them any more, and has their workers
// remove it. Upstream: HandlePodCleanups and cleanupOrphanedPodDirs in pkg/kubelet. Owns Leftovers (sole writer).
// Invariants: nothing is called left over before every source has reported; a worker removes it, so that a pod whose UID comes
// back in the middle waits until it is gone.
import type { PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { Aborted } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';

interface Leftover {
  readonly uid: PodUid;
  /** Empty where only a directory of the pod's volumes is left. */
  readonly namespace: string;
  readonly name: string;
}

/** Pods of which only files are left. */
export class Leftovers {
  readonly #byUid = new Map<PodUid, Leftover>();

  get(uid: PodUid): Leftover | undefined {
    return this.#byUid.get(uid);
  }

  put(leftover: Leftover): void {
    this.#byUid.set(leftover.uid, leftover);
  }

  delete(uid: PodUid): void {
    this.#byUid.delete(uid);
  }
}

interface HousekeepingDeps {
  readonly desired: {
    sourcesReady(): boolean;
    readonly ready: Subscribable<void>;
  };
  readonly workers: { knows(uid: PodUid): boolean; poke(uid: PodUid): void };
  /** Lists what lies on the disk. */
  readonly disk: { leftovers(): Promise<readonly Leftover[]> };
  readonly leftovers: Leftovers;
  readonly clock: Clock;
  readonly log: Logger;
  readonly everyMs: number;
}

export class Housekeeping implements Component {
  readonly name = 'housekeeping';
  readonly #deps: HousekeepingDeps;
  readonly #queue: KeyedQueue<'scan'>;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<'scan'>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: deps.everyMs, maxMs: deps.everyMs },
      run: async () => await this.#scan(),
      onError: (_key, err) => deps.log.error('Cannot list what pods have left on the disk', { err }),
    });
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const unsubscribe = this.#deps.desired.ready.subscribe(() => this.#queue.add('scan'));
    this.#queue.start();
    this.#queue.add('scan');
    return { stopped: this.#drain(signal, unsubscribe) };
  }

  async #drain(signal: AbortSignal, unsubscribe: () => void): Promise<void> {
    await untilAborted(signal);
    unsubscribe();
    this.#queue.abortAll(new Aborted('the kubelet stops'));
    await this.#queue.stop();
  }

  async #scan(): Promise<void> {
    const { desired, disk, everyMs, leftovers, workers } = this.#deps;
    this.#queue.addAfter('scan', everyMs);
    if (!desired.sourcesReady()) return;
    for (const each of await disk.leftovers()) {
      if (workers.knows(each.uid)) continue;
      leftovers.put(each);
      workers.poke(each.uid);
    }
  }
}
