// What the workers remember of each pod between two runs, and how it is published. Owns PodLifecycles (sole writer).
// Invariants: a pod has a record from its first step that acts until it is forgotten; a pod without a worker is not published.
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod } from '../api/k8s/types.ts';
import { firstSeenMs } from '../api/pod/observed.ts';
import type { PodLifecycle, WaitingReason } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { Termination, WorkerState } from './transition.ts';
import type { WorkerStores } from './worker-deps.ts';

export interface WorkerRecord {
  state: WorkerState;
  readonly startedAtMs: number;
  /** The same moment on the monotonic clock. */
  readonly startedMonotonicMs: number;
  /** The last spec that a source had; a removed pod is terminated by it. */
  pod: Pod | undefined;
  /** The order of the desired pod that this record was created for; undefined for a pod in no source. */
  readonly order: number | undefined;
  admitted: boolean;
  /** Device plugins have allocated what the pod needs. */
  prepared: boolean;
  lastFailure: string;
  /** The outcome of a CRI call was not inspected, so the next run starts with an inspection. */
  mustInspect: boolean;
  /** Only a container that the runtime refuses to remove is left. It does not block a pod of the same name. */
  isUnremovable: boolean;
  /** The outcome of the last sync. */
  settled?: { readonly explain: string; readonly sinceMs: number };
}

/** What the sync in progress has done so far, or is about to do. */
type SyncProgress = Partial<Pick<Extract<PodLifecycle, { state: 'syncing' }>, 'replacing' | 'sandboxReady'>>;

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

export class WorkerRecords {
  readonly #stores: Pick<WorkerStores, 'desired' | 'observed' | 'lifecycles'>;
  readonly #clock: Clock;
  readonly #records = new Map<PodUid, WorkerRecord>();

  constructor(stores: Pick<WorkerStores, 'desired' | 'observed' | 'lifecycles'>, clock: Clock) {
    this.#stores = stores;
    this.#clock = clock;
  }

  get(uid: PodUid): WorkerRecord | undefined {
    return this.#records.get(uid);
  }

  all(): ReadonlyMap<PodUid, WorkerRecord> {
    return this.#records;
  }

  enter(uid: PodUid, state: WorkerState): WorkerRecord {
    const record = this.#records.get(uid) ?? this.#create(uid, state);
    record.state = state;
    this.#records.set(uid, record);
    return record;
  }

  forget(uid: PodUid): void {
    this.#records.delete(uid);
    this.#stores.lifecycles.delete(uid);
  }

  /** The pod is removed except for a container that the runtime refuses to remove. */
  keepUnremovable(uid: PodUid): void {
    const record = this.#records.get(uid);
    if (record !== undefined) record.isUnremovable = true;
    this.#stores.lifecycles.delete(uid);
  }

  /** How long the pod has been active, independent of changes to the wall clock. */
  activeMs(uid: PodUid): number {
    const clock = this.#clock;
    const record = this.#records.get(uid);
    return record === undefined
      ? clock.now() - this.#startedAt(uid)
      : clock.monotonic() - record.startedMonotonicMs;
  }

  /**
   * Publishes the state `syncing`. `waiting` undefined: the last waiting reasons still apply, and a sync is in progress. A resync with
   * the same outcome as the sync before keeps the time since when it applies.
   */
  reportSyncing(
    uid: PodUid,
    waiting: Readonly<Record<string, WaitingReason>> | undefined,
    explain: string,
    { replacing, sandboxReady = false }: SyncProgress = {},
  ): void {
    if (this.#stores.desired.get(uid) === undefined) return;
    const published = this.#stores.lifecycles.get(uid);
    const before = published?.state === 'syncing' ? published : undefined;
    // As long as the inspection that would show the new sandbox fails.
    const isUninspected = before?.sandboxReady === true && this.#records.get(uid)?.mustInspect === true;
    const record = this.#records.get(uid);
    const last = waiting !== undefined && record?.settled?.explain === explain ? record.settled : undefined;
    const sameMs = before?.explain === explain ? before.explainSinceMs : undefined;
    const explainSinceMs = last?.sinceMs ?? sameMs ?? this.#clock.now();
    if (waiting !== undefined && record !== undefined) record.settled = { explain, sinceMs: explainSinceMs };
    this.report(uid, {
      state: 'syncing',
      waiting: waiting ?? before?.waiting ?? {},
      explain,
      explainSinceMs,
      ...((sandboxReady || isUninspected) && { sandboxReady: true }),
      ...(replacing && { replacing }),
    });
  }

  reportTerminating(uid: PodUid, { graceSeconds = 0, kill, why }: Termination): void {
    const before = this.#stores.lifecycles.get(uid);
    const sinceMs = before?.state === 'terminating' ? before.sinceMs : this.#clock.now();
    const explain = `terminating: ${why}`;
    this.report(uid, { state: 'terminating', graceSeconds, sinceMs, why, explain, ...(kill && { kill }) });
  }

  reportTerminated(uid: PodUid, { kill }: Termination, cleaned: boolean): void {
    const before = this.#stores.lifecycles.get(uid);
    const atMs = before?.state === 'terminated' ? before.atMs : this.#clock.now();
    this.report(uid, { state: 'terminated', atMs, cleaned, ...(kill && { kill }) });
  }

  report(uid: PodUid, lifecycle: DistributiveOmit<PodLifecycle, 'startedAtMs'>): void {
    const { lifecycles } = this.#stores;
    const startedAtMs =
      this.#records.get(uid)?.startedAtMs ?? lifecycles.get(uid)?.startedAtMs ?? this.#clock.now();
    lifecycles.put(uid, { ...lifecycle, startedAtMs });
  }

  #create(uid: PodUid, state: WorkerState): WorkerRecord {
    const clock = this.#clock;
    const wanted = this.#stores.desired.get(uid);
    const startedAtMs = this.#startedAt(uid);
    return {
      state,
      startedAtMs,
      startedMonotonicMs: clock.monotonic() - (clock.now() - startedAtMs),
      pod: wanted?.pod,
      order: wanted?.order,
      admitted: false,
      prepared: false,
      lastFailure: '',
      mustInspect: false,
      isUnremovable: false,
    };
  }

  /** When a kubelet first saw the pod: recorded on its sandboxes or its object by a previous process, else now. */
  #startedAt(uid: PodUid): number {
    const { desired, observed } = this.#stores;
    const pod = desired.get(uid)?.pod;
    const nowMs = this.#clock.now();
    const recorded = [pod?.metadata?.annotations?.[seenAnnotation], pod?.status?.startTime]
      .map((text) => Date.parse(text ?? ''))
      .filter((ms) => !Number.isNaN(ms));
    return Math.min(nowMs, ...recorded, firstSeenMs(observed.get(uid)) ?? nowMs);
  }
}
