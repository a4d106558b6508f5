// Takes a pod through its admission before its first sync: waits for device plugins, admits it in turn, has the plugins allocate.
// Upstream: HandlePodAdditions in pkg/kubelet/kubelet.go and the admit handlers of pkg/kubelet/cm.
// Invariant: only the admission itself is done for one pod at a time; a pod that waits for a plugin delays no other pod.
import type { Pod } from '../api/k8s/types.ts';
import { initAndRegularContainers } from '../api/pod/find-container.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import type { PodRefusal, PodWorkersDeps } from './worker-deps.ts';
import type { WorkerRecord, WorkerRecords } from './worker-records.ts';

type AdmissionDeps = Pick<PodWorkersDeps, 'clock' | 'policy' | 'report' | 'settings' | 'stores'>;

/** The pod is not admitted yet and checked again after this time, or when it is woken. */
interface Waiting {
  readonly waitMs: number;
}

export class PodAdmission {
  readonly #deps: AdmissionDeps;
  readonly #records: WorkerRecords;
  /** Pods are admitted one after the other, because each admission counts the resources of the pods admitted before. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: AdmissionDeps, records: WorkerRecords) {
    this.#deps = deps;
    this.#records = records;
  }

  /** Undefined: the pod may be synced. */
  async check(
    uid: PodUid,
    record: WorkerRecord,
    signal: AbortSignal,
  ): Promise<PodRefusal | Waiting | undefined> {
    if (record.admitted && record.prepared) return undefined;
    // A pod that waits for a device plugin continues the stage when it is checked again.
    const stage = this.#deps.report.stages?.begin(uid, 'admit');
    try {
      const answer = await this.#check(uid, record, signal);
      if (answer === undefined) stage?.end();
      else if ('message' in answer) stage?.end(`${answer.reason}: ${answer.message}`);
      return answer;
    } catch (err) {
      stage?.end(err);
      throw err;
    }
  }

  async #check(
    uid: PodUid,
    record: WorkerRecord,
    signal: AbortSignal,
  ): Promise<PodRefusal | Waiting | undefined> {
    if (!record.admitted) {
      const waiting = this.#wait(uid);
      if (waiting !== undefined) return waiting;
      const refusal = await this.#admit(uid, record, signal);
      if (refusal !== undefined) return refusal;
    }
    return record.prepared ? undefined : await this.#prepare(uid, record, signal);
  }

  /** The pod's containers report what it is waiting for. */
  #wait(uid: PodUid): Waiting | undefined {
    const { clock, policy, settings, stores } = this.#deps;
    const pod = stores.desired.get(uid)?.pod;
    const wait = pod && policy.waitsFor?.(pod);
    if (pod === undefined || wait === undefined) return undefined;
    const waiting = Object.fromEntries(initAndRegularContainers(pod).map(({ name }) => [name, wait]));
    this.#records.reportSyncing(uid, waiting, `${wait.reason}: ${wait.message}`);
    return { waitMs: Math.min(Math.max(wait.untilMs - clock.now(), 0), settings.syncFrequencyMs) };
  }

  async #admit(uid: PodUid, record: WorkerRecord, signal: AbortSignal): Promise<PodRefusal | undefined> {
    const { policy, stores } = this.#deps;
    if (policy.admit === undefined) {
      record.admitted = true;
      return undefined;
    }
    this.#records.reportSyncing(uid, {}, 'waiting for admission to the node');
    const before = this.#last;
    const admission = (async () => {
      await before.catch(() => undefined);
      signal.throwIfAborted();
      const pod = stores.desired.get(uid)?.pod;
      const refusal = pod === undefined ? undefined : await policy.admit?.(pod, signal);
      record.admitted = refusal === undefined;
      return refusal;
    })();
    this.#last = admission.catch(() => undefined);
    return await raceAbort(admission, signal);
  }

  async #prepare(uid: PodUid, record: WorkerRecord, signal: AbortSignal): Promise<PodRefusal | undefined> {
    const { policy, stores } = this.#deps;
    const pod: Pod | undefined = stores.desired.get(uid)?.pod;
    if (pod === undefined) return undefined;
    const refusal = await policy.prepare?.(pod, signal);
    record.prepared = refusal === undefined;
    return refusal;
  }
}
