// Pods with a pending resize or one in progress. Upstream: podResizeConditions of pkg/kubelet/status/status_manager.go.
// Owns ResizeConditions (sole writer: the resize loop). Invariants: the store is updated before a key is announced; only
// changes are announced; a condition's transition time changes only with its reason.
import type { Pod, PodCondition } from '../../api/k8s/types.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import type { PodActivity } from '../../api/ports/pod-activity.ts';
import type { ResizeCondition, ResizeConditions } from '../../api/ports/resize-conditions.ts';
import { Channel } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import type { Store } from '../../base/store.ts';
import { explainResize } from './explain-resize.ts';

interface ConditionUpdate {
  readonly reason: string;
  readonly message: string;
  readonly generation: number;
}

interface ChangedCondition {
  readonly generation: number;
  readonly changed: boolean;
}

export class PodResizeConditions implements Store {
  readonly storeName = 'PodResizeConditions';
  readonly writer = 'pod-resizes';
  readonly changed = new Channel<PodUid>();
  readonly #clock: Pick<Clock, 'now'>;
  readonly #pods = new Map<PodUid, ResizeConditions>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  get(uid: PodUid): ResizeConditions | undefined {
    return this.#pods.get(uid);
  }

  all(): ReadonlyMap<PodUid, ResizeConditions> {
    return this.#pods;
  }

  /** Resizes that are pending or in progress, for /explain. */
  activities(uid: PodUid): readonly PodActivity[] {
    return explainResize(this.#pods.get(uid));
  }

  isDeferred(uid: PodUid): boolean {
    return this.#pods.get(uid)?.pending?.reason === 'Deferred';
  }

  /** Adopts the conditions that an earlier process reported in the pod's status. */
  backfill(pod: Pod): void {
    const conditions = pod.status?.conditions ?? [];
    const read = (type: string): ResizeCondition | undefined => fromApi(conditions, type, this.#clock.now());
    const [pending, inProgress] = [read('PodResizePending'), read('PodResizeInProgress')];
    if (pending === undefined && inProgress === undefined) return;
    this.#put(podUid(pod), { ...(pending && { pending }), ...(inProgress && { inProgress }) });
  }

  /** Returns whether the reason or the generation is new, which is worth an event. */
  setPending(uid: PodUid, update: ConditionUpdate): boolean {
    const before = this.#pods.get(uid);
    this.#put(uid, { ...before, pending: this.#next(before?.pending, update) });
    return before?.pending?.reason !== update.reason || before.pending.generation !== update.generation;
  }

  clearPending(uid: PodUid): void {
    const { pending, ...rest } = this.#pods.get(uid) ?? {};
    if (pending !== undefined) this.#put(uid, rest);
  }

  /** A new resize has begun. Replaces the conditions of the last one. */
  begin(uid: PodUid, generation: number): void {
    this.#put(uid, { inProgress: this.#next(undefined, { reason: '', message: '', generation }) });
  }

  /** Keeps the generation of the spec with which the resize began. An empty reason keeps the last one. */
  setInProgress(uid: PodUid, update: ConditionUpdate): ChangedCondition {
    const before = this.#pods.get(uid);
    const old = before?.inProgress;
    const latest = update.reason === '' && update.message === '' && old !== undefined ? old : update;
    const generation = old?.generation ?? update.generation;
    this.#put(uid, { ...before, inProgress: this.#next(old, { ...latest, generation }) });
    return { generation, changed: old?.reason !== latest.reason || old.message !== latest.message };
  }

  /** Returns the generation of the condition; undefined if it was not set. */
  clearInProgress(uid: PodUid): number | undefined {
    const { inProgress, ...rest } = this.#pods.get(uid) ?? {};
    if (inProgress === undefined) return undefined;
    this.#put(uid, rest);
    return inProgress.generation;
  }

  forget(uid: PodUid): void {
    if (this.#pods.delete(uid)) this.changed.push(uid);
  }

  #put(uid: PodUid, next: ResizeConditions): void {
    const before = this.#pods.get(uid);
    if (same(before?.pending, next.pending) && same(before?.inProgress, next.inProgress)) return;
    if (next.pending === undefined && next.inProgress === undefined) this.#pods.delete(uid);
    else this.#pods.set(uid, next);
    this.changed.push(uid);
  }

  // differs from upstream: an identical update changes nothing, so that a resize deferred for days does not cause a status
  // write every three minutes.
  #next(
    before: ResizeCondition | undefined,
    { generation, message, reason }: ConditionUpdate,
  ): ResizeCondition {
    const nowMs = this.#clock.now();
    if (before?.reason === reason && before.message === message && before.generation === generation)
      return before;
    return {
      reason,
      message,
      generation,
      sinceMs: before?.reason === reason ? before.sinceMs : nowMs,
      updatedMs: nowMs,
    };
  }
}

function same(a: ResizeCondition | undefined, b: ResizeCondition | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function fromApi(
  conditions: readonly PodCondition[],
  type: string,
  nowMs: number,
): ResizeCondition | undefined {
  const found = conditions.find((each) => each.type === type);
  if (found === undefined) return undefined;
  const time = (text: string | null | undefined): number => {
    const ms = Date.parse(text ?? '');
    return Number.isNaN(ms) ? nowMs : ms;
  };
  return {
    reason: found.reason ?? '',
    message: found.message ?? '',
    generation: found.observedGeneration ?? 0,
    sinceMs: time(found.lastTransitionTime),
    updatedMs: time(found.lastProbeTime),
  };
}
