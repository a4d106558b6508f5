// What the workers remember of each pod between two runs, and how it is told. Owns PodLifecycles (sole writer).
// Invariants: a pod has a record from its first real step until it is forgotten; nobody is told of a pod that nobody works on.
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod } from '../api/k8s/types.ts';
import { firstTakenUpMs } from '../api/pod/observed.ts';
import type { PodLifecycle, WaitingReason } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { Ending, WorkerState } from './transition.ts';
import type { WorkerStores } from './worker-deps.ts';

export interface WorkerRecord {
  state: WorkerState;
  readonly startedAtMs: number;
  /** The same moment on the clock that is never set. */
  readonly startedMonotonicMs: number;
  /** The last spec that was wanted: a pod that has lost its source is ended by it. */
  pod: Pod | undefined;
  /** Of the pod that it was made for; undefined for one that no source wanted. */
  readonly order: number | undefined;
  admitted: boolean;
  lastFailure: string;
  /** The runtime was asked for something whose outcome has not been seen: the next run begins with a look. */
  mustLook: boolean;
  /** Nothing of it is left but what the runtime does not let go of: it stands in nobody's way. */
  isKept: boolean;
}

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
    const record = this.#records.get(uid) ?? this.#make(uid, state);
    record.state = state;
    this.#records.set(uid, record);
    return record;
  }

  forget(uid: PodUid): void {
    this.#records.delete(uid);
    this.#stores.lifecycles.delete(uid);
  }

  /** The pod has gone, but for what the runtime does not let go of. */
  keep(uid: PodUid): void {
    const record = this.#records.get(uid);
    if (record !== undefined) record.isKept = true;
    this.#stores.lifecycles.delete(uid);
  }

  /** How long the pod has been active, whatever was done to the wall clock meanwhile. */
  activeMs(uid: PodUid): number {
    const clock = this.#clock;
    const record = this.#records.get(uid);
    return record === undefined
      ? clock.now() - this.#startedAt(uid)
      : clock.monotonic() - record.startedMonotonicMs;
  }

  /** `waiting` undefined: what it was before still holds. */
  tellSyncing(
    uid: PodUid,
    waiting: Readonly<Record<string, WaitingReason>> | undefined,
    explain: string,
  ): void {
    if (this.#stores.desired.get(uid) === undefined) return;
    const told = this.#stores.lifecycles.get(uid);
    const before = told?.state === 'syncing' ? told : undefined;
    const explainSinceMs = before?.explain === explain ? before.explainSinceMs : this.#clock.now();
    this.tell(uid, { state: 'syncing', waiting: waiting ?? before?.waiting ?? {}, explain, explainSinceMs });
  }

  tellTerminating(uid: PodUid, { graceSeconds = 0, kill, why }: Ending): void {
    const before = this.#stores.lifecycles.get(uid);
    const sinceMs = before?.state === 'terminating' ? before.sinceMs : this.#clock.now();
    const explain = `ending: ${why}`;
    this.tell(uid, { state: 'terminating', graceSeconds, sinceMs, why, explain, ...(kill && { kill }) });
  }

  tellTerminated(uid: PodUid, { kill }: Ending, cleaned: boolean): void {
    const before = this.#stores.lifecycles.get(uid);
    const atMs = before?.state === 'terminated' ? before.atMs : this.#clock.now();
    this.tell(uid, { state: 'terminated', atMs, cleaned, ...(kill && { kill }) });
  }

  tell(uid: PodUid, lifecycle: DistributiveOmit<PodLifecycle, 'startedAtMs'>): void {
    const { lifecycles } = this.#stores;
    const startedAtMs =
      this.#records.get(uid)?.startedAtMs ?? lifecycles.get(uid)?.startedAtMs ?? this.#clock.now();
    lifecycles.put(uid, { ...lifecycle, startedAtMs });
  }

  #make(uid: PodUid, state: WorkerState): WorkerRecord {
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
      lastFailure: '',
      mustLook: false,
      isKept: false,
    };
  }

  /** When the pod was first seen: by its sandboxes or its object in an earlier life, else by its source in this one. */
  #startedAt(uid: PodUid): number {
    const { desired, observed } = this.#stores;
    const pod = desired.get(uid)?.pod;
    const nowMs = this.#clock.now();
    const known = [pod?.metadata?.annotations?.[seenAnnotation], pod?.status?.startTime]
      .map((text) => Date.parse(text ?? ''))
      .filter((ms) => !Number.isNaN(ms));
    return Math.min(nowMs, ...known, firstTakenUpMs(observed.get(uid)) ?? nowMs);
  }
}
