// Finds the pods above a limit of local storage. Owns when they are measured next.
// Invariants: only pods with a limit are measured; the cost stays bounded however many they are; a pod that ended during the
// measurement is not found. Upstream: localStorageEviction in pkg/kubelet/eviction/eviction_manager.go.
import type { Pod } from '../api/k8s/types.ts';
import { podUid } from '../api/pod/pod-ref.ts';
import type { NodeLoadSource } from '../api/ports/node-usage.ts';
import type { Clock } from '../base/clock.ts';
import type { DiskLayout } from './decide/layout.ts';
import { exceededStorageLimit, hasStorageLimit } from './decide/storage-limits.ts';
import { type Eviction, type PodEvictor, storageEviction } from './evict-pods.ts';

interface StorageLimitDeps {
  readonly pods: { all(): readonly Pod[] };
  readonly load: Pick<NodeLoadSource, 'pods'>;
  readonly evictor: Pick<PodEvictor, 'mayEvict'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A little less than the interval of the passes, since a timer may be early. */
const minRestMs = 9_000;
const maxRestMs = 60_000;
const restFactor = 500;

export class StorageLimitCheck {
  readonly #deps: StorageLimitDeps;
  /** Monotonic. */
  #dueMs = 0;

  constructor(deps: StorageLimitDeps) {
    this.#deps = deps;
  }

  /** None before the next measurement is due. */
  async findExceeded(layout: DiskLayout, signal: AbortSignal): Promise<readonly Eviction[]> {
    const { clock, evictor, load, pods } = this.#deps;
    const startedMs = clock.monotonic();
    if (startedMs < this.#dueMs) return [];
    const limited = pods.all().filter((pod) => hasStorageLimit(pod) && evictor.mayEvict(podUid(pod)));
    if (limited.length === 0) return [];
    const loads = await load.pods({ disk: true, only: new Set(limited.map(podUid)) }, signal);
    this.#dueMs = startedMs + restMs(clock.monotonic() - startedMs);
    // Read again: pods may have ended or been deleted during the measurement.
    return pods.all().flatMap((pod) => {
      const own = evictor.mayEvict(podUid(pod)) ? loads.get(podUid(pod)) : undefined;
      const exceeded = own && exceededStorageLimit(pod, own, { layout });
      return exceeded === undefined ? [] : [storageEviction(pod, exceeded)];
    });
  }
}

/** Many pods with limits take long to measure: they are measured less often. */
function restMs(tookMs: number): number {
  return Math.min(Math.max(tookMs * restFactor, minRestMs), maxRestMs);
}
