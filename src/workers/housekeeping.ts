// Sweeps the node for what orphaned pods left behind (directories, cgroups, logs) and has their workers remove it.
// Upstream: HandlePodCleanups and cleanupOrphanedPodDirs in pkg/kubelet.
// Invariants: isOrphanedPod() alone decides; only the pod's worker removes anything, so a pod that reappears under the same UID
// waits until the removal is done.
import type { PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { Aborted } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { isOrphanedPod, type OrphanViews } from './orphaned-pod.ts';

export interface Leftover {
  readonly uid: PodUid;
  /** Empty if unknown: only a log directory contains it. */
  readonly namespace: string;
  readonly name: string;
}

interface FoundLeftover extends Leftover {
  /** Whether it is the pod's directory, with its volumes. */
  readonly isPodDirectory: boolean;
}

interface HousekeepingDeps {
  readonly views: OrphanViews & {
    readonly desired: { readonly ready: Subscribable<void> };
    readonly pleg: { readonly answered: Subscribable<void> };
  };
  readonly workers: {
    removeLeftover(leftover: Leftover): void;
    isRemovingLeftover(uid: PodUid): boolean;
  };
  /** Lists what pods have on the node, whether they are orphans or not; possibly several leftovers per pod. */
  readonly disk: { leftovers(): Promise<readonly FoundLeftover[]> };
  readonly metrics?: { clearedDirectories(found: number, failed: number): void } | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly everyMs: number;
}

export class Housekeeping implements Component {
  readonly name = 'housekeeping';
  readonly wakes;
  readonly #deps: HousekeepingDeps;
  readonly #queue: KeyedQueue<'sweep'>;
  /** Orphaned pods with a directory, and when their worker got them (monotonic). */
  readonly #handedOverMs = new Map<PodUid, number>();

  constructor(deps: HousekeepingDeps) {
    const { desired, pleg } = deps.views;
    this.#deps = deps;
    this.#queue = new KeyedQueue<'sweep'>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: deps.everyMs, maxMs: deps.everyMs },
      run: async () => await this.#sweep(),
      onError: (_key, err) => deps.log.error('Failed to list the leftovers of pods', { err }),
    });
    const sweep = (): void => this.#queue.add('sweep');
    this.wakes = [on(desired.ready, sweep), on(pleg.answered, sweep)];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    this.#queue.add('sweep');
    return { stopped: this.#drain(signal) };
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll(new Aborted('the kubelet stops'));
    await this.#queue.stop();
  }

  async #sweep(): Promise<void> {
    const { clock, disk, everyMs, views, workers } = this.#deps;
    this.#queue.addAfter('sweep', everyMs);
    if (!views.desired.sourcesReady()) return;
    const found = await disk.leftovers();
    this.#reportCleared();
    for (const leftover of found) {
      if (!isOrphanedPod(leftover.uid, views)) continue;
      workers.removeLeftover(leftover);
      if (leftover.isPodDirectory) this.#handedOverMs.set(leftover.uid, clock.monotonic());
    }
  }

  /** A removal that is not done by the next regular sweep counts as failed; its worker keeps retrying. */
  #reportCleared(): void {
    const { clock, everyMs, metrics, workers } = this.#deps;
    const isPending = ([uid]: readonly [PodUid, number]): boolean => workers.isRemovingLeftover(uid);
    const [pending, cleared] = partition([...this.#handedOverMs], isPending);
    const failed = pending.filter(([, sinceMs]) => clock.monotonic() - sinceMs >= everyMs);
    for (const [uid] of cleared) this.#handedOverMs.delete(uid);
    metrics?.clearedDirectories(cleared.length + failed.length, failed.length);
  }
}

function partition<T>(all: readonly T[], test: (each: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter((each) => test(each)), all.filter((each) => !test(each))];
}
