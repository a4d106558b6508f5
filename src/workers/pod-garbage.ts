// Collects the garbage of a pod in its worker: after a sync, or because the collector has requested it.
// Upstream: kuberuntime_gc.go, which acts beside the workers. Invariant: the pod is inspected after every attempt, even a failed
// one, because it may have removed something.
import type { ObservedPod } from '../api/pod/observed.ts';
import { type PodUid, podRef } from '../api/pod/pod-ref.ts';
import type { CollectionCause, GarbageScope } from '../api/ports/garbage-scope.ts';
import { computeGarbageScope } from './garbage-scope.ts';
import type { PodWorkersDeps } from './worker-deps.ts';
import type { WorkerRecords } from './worker-records.ts';

type Inspect = (uid: PodUid, signal: AbortSignal) => Promise<void>;

export class PodGarbage {
  readonly #deps: Pick<PodWorkersDeps, 'report' | 'runtime' | 'stores'>;
  readonly #records: Pick<WorkerRecords, 'get'>;
  readonly #inspect: Inspect;

  constructor(
    deps: Pick<PodWorkersDeps, 'report' | 'runtime' | 'stores'>,
    records: Pick<WorkerRecords, 'get'>,
    inspect: Inspect,
  ) {
    this.#deps = deps;
    this.#records = records;
    this.#inspect = inspect;
  }

  /** How much of each pod may be removed now. */
  scopeOf(cause: CollectionCause): (seen: ObservedPod) => GarbageScope {
    const { apiPods, desired } = this.#deps.stores;
    const sourcesReady = desired.sourcesReady();
    return (seen) =>
      computeGarbageScope({
        cause,
        sourcesReady,
        worker: this.#records.get(seen.uid)?.state,
        desired: desired.get(seen.uid),
        stored: apiPods.get(seen.uid)?.status,
        seen,
      });
  }

  /** Removes the pod's dead containers and sandboxes. */
  async collect(uid: PodUid, cause: CollectionCause, signal: AbortSignal): Promise<void> {
    const { runtime, stores } = this.#deps;
    const seen = stores.observed.get(uid);
    if (seen === undefined) return;
    let acted: boolean;
    try {
      acted = await runtime.collectGarbage(seen, this.scopeOf(cause), signal);
    } catch (err) {
      await this.#inspect(uid, signal).catch(() => undefined);
      throw err;
    }
    if (acted) await this.#inspect(uid, signal);
  }

  /** Garbage that cannot be removed does not fail the sync: the periodic collection retries and reports it. */
  async collectAfterSync(uid: PodUid, signal: AbortSignal): Promise<void> {
    try {
      await this.collect(uid, 'sync', signal);
    } catch (err) {
      signal.throwIfAborted();
      const record = this.#records.get(uid);
      if (record?.mustInspect === true) throw err;
      const fields = { pod: podRef(record?.pod ?? {}), podUID: uid, err };
      this.#deps.report.log.v(2).info('Failed to collect the garbage of a pod after its sync', fields);
    }
  }
}
