// Decides about resizes: which are granted, which wait, which can never be. Upstream: the allocation manager of
// pkg/kubelet/allocation and HandlePodUpdates, HandlePodRemoves and HandlePodReconcile in kubelet.go.
// Writes Allocations and ResizeConditions. A loop with one key: resizes are tried one after the other, in their order.
// Invariants: nothing is granted before every source has spoken and the pod itself was admitted; what is granted is
// allocated at once, so that the next one counts with it; who carries it out reads the allocation, not the spec.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import { hasEnded } from '../../api/pod/active-pod.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef } from '../../api/pod/pod-ref.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { type Component, on } from '../../base/component.ts';
import { Aborted } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import type { WantedPods } from './allocated-view.ts';
import type { Allocations } from './allocations.ts';
import { asksForMore, isResized, type ResizeRules, whyInfeasible } from './decide-resize.ts';
import { orderPending } from './pending-order.ts';
import type { PodResizeConditions } from './pod-resize-conditions.ts';
import { PodUsage } from './pod-usage.ts';
import { type RequestedResize, requestedResizes } from './requested-resizes.ts';
import { alreadySized, completionMessage, isInProgress } from './resize-progress.ts';

/** What has a waiting resize tried again, as the metric names it. */
type RetryTrigger = 'pod_resized' | 'pod_updated' | 'pods_added' | 'pods_removed' | 'periodic_retry';

interface ResizeAdmission {
  /** The pod as this process admitted it; undefined if it has not. */
  admittedPod(uid: PodUid): Pod | undefined;
  /** Announces every pod that was admitted. */
  readonly changed: Subscribable<PodUid>;
  /** Undefined if the node has room for the resized pod, or room was made. */
  resize(pod: Pod, signal: AbortSignal): Promise<{ readonly message: string } | undefined>;
}

interface ResizeCounts {
  requested(resize: RequestedResize): void;
  infeasible(detail: string): void;
  acceptedAfterWait(trigger: RetryTrigger): void;
}

interface ResizeStores {
  /** With the resources their specs request, not those they were allocated. */
  readonly desired: WantedPods<{ readonly uid: PodUid; readonly pod: Pod }>;
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly allocations: Allocations;
  readonly conditions: PodResizeConditions;
  readonly statuses: {
    get(uid: PodUid): PodStatus | undefined;
    readonly changed: Subscribable<PodUid>;
  };
}

interface PodResizesDeps {
  readonly stores: ResizeStores;
  readonly admission: ResizeAdmission;
  readonly node: { readonly allocatable: () => ResourceAmounts; readonly rules: ResizeRules };
  readonly report: { readonly counts: ResizeCounts; readonly events: EventSink; readonly log: Logger };
  readonly clock: Clock;
}

const untilReadyMs = 30_000;
const periodMs = 180_000;

export class PodResizes implements Component {
  readonly name = 'pod-resizes';
  readonly #deps: PodResizesDeps;
  readonly #queue: KeyedQueue<'retry'>;
  readonly #pending = new Set<PodUid>();
  /** The spec that was last looked at. */
  readonly #known = new Map<PodUid, Pod>();
  /** Pods that were wanted no more, and end: one that comes back under the same UID begins anew. */
  readonly #gone = new Set<PodUid>();
  readonly #usage: PodUsage;
  #trigger: RetryTrigger = 'periodic_retry';

  constructor(deps: PodResizesDeps) {
    this.#deps = deps;
    this.#usage = new PodUsage(deps.stores, deps.node.rules);
    this.#queue = new KeyedQueue<'retry'>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: 1_000, maxMs: untilReadyMs },
      run: async (_key, signal) => await this.#retryAll(signal),
      onError: (_key, err) => deps.report.log.error('Resizes could not be tried', { err }),
    });
  }

  get wakes() {
    const { admission, stores } = this.#deps;
    const { desired, lifecycles, statuses } = stores;
    return [
      on(admission.changed, (uid) => this.#admitted(uid)),
      on(desired.changed, (uid) => this.#podChanged(uid)),
      on(desired.ready, () => this.#begin()),
      on(lifecycles.changed, (uid) => this.#lifecycleChanged(uid)),
      on(statuses.changed, (uid) => {
        if (this.#usage.hasShrunk(uid)) this.#retry('pod_resized');
      }),
    ];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { desired } = this.#deps.stores;
    this.#queue.start();
    for (const { uid } of desired.all()) this.#podChanged(uid);
    if (desired.sourcesReady()) this.#begin();
    return { stopped: this.#drain(signal) };
  }

  /** Every source has spoken: what nobody wants any more needs no remembering. */
  #begin(): void {
    const { allocations, desired, lifecycles } = this.#deps.stores;
    for (const uid of allocations.uids())
      if (desired.get(uid) === undefined && lifecycles.get(uid) === undefined) allocations.forget(uid);
    this.#retry('pods_added');
  }

  /** Allocates what the pod was admitted with. Its spec may request something else by now. */
  #admitted(uid: PodUid): void {
    const { allocations, conditions, desired } = this.#deps.stores;
    const pod = this.#deps.admission.admittedPod(uid);
    if (pod === undefined) return;
    allocations.allocate(pod);
    const requested = desired.get(uid)?.pod;
    if (requested === undefined) return;
    if (!isResized(requested, allocations.podOf(requested))) {
      // A pending resize that an earlier process reported has been withdrawn since.
      conditions.clearPending(uid);
      return;
    }
    this.#pending.add(uid);
    this.#retry('pods_added');
  }

  /** Looked at before and after every sync: whether the pod's containers have what they were allocated. */
  check(uid: PodUid): void {
    const { allocations, conditions, desired, observed } = this.#deps.stores;
    const { report } = this.#deps;
    const asked = desired.get(uid)?.pod;
    if (asked === undefined || !allocations.has(uid)) return;
    const pod = allocations.podOf(asked);
    const seen = observed.get(uid);
    const actuated = (name: string) => allocations.actuated(uid, name);
    for (const { name, resources } of alreadySized(pod, seen, actuated))
      allocations.actuate(uid, name, resources ?? {});
    if (isInProgress(pod, seen, actuated)) {
      conditions.setInProgress(uid, { reason: '', message: '', generation: pod.metadata?.generation ?? 0 });
    } else if (conditions.clearInProgress(uid)) {
      report.events.pod(pod, { type: 'Normal', reason: 'ResizeCompleted', message: completionMessage(pod) });
      report.log.info('Pod resized', { pod: podRef(pod), podUID: uid });
      this.#retry('pod_resized');
    }
  }

  /** An attempt to carry a resize out has failed; it is tried again. */
  failed(uid: PodUid, message: string): void {
    const generation = this.#deps.stores.desired.get(uid)?.pod.metadata?.generation ?? 0;
    this.#deps.stores.conditions.setInProgress(uid, { reason: 'Error', message, generation });
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll(new Aborted('the kubelet stops'));
    await this.#queue.stop();
  }

  #podChanged(uid: PodUid): void {
    const { allocations, conditions, desired, lifecycles } = this.#deps.stores;
    const { report } = this.#deps;
    const pod = desired.get(uid)?.pod;
    const before = this.#known.get(uid);
    if (pod === undefined) {
      this.#known.delete(uid);
      this.#pending.delete(uid);
      if (lifecycles.get(uid) === undefined) allocations.forget(uid);
      else this.#gone.add(uid);
      this.#retry('pods_removed');
      return;
    }
    this.#known.set(uid, pod);
    if (before === undefined) {
      conditions.backfill(pod);
      return;
    }
    const requested = requestedResizes(before, pod);
    if (requested.length === 0) return;
    for (const each of requested) report.counts.requested(each);
    if (allocations.podOf(pod) === pod) {
      // It was taken back before it was granted.
      this.#pending.delete(uid);
      conditions.clearPending(uid);
      return;
    }
    this.#pending.add(uid);
    this.#retry('pod_updated');
  }

  #lifecycleChanged(uid: PodUid): void {
    const { allocations, conditions, desired, lifecycles } = this.#deps.stores;
    const lifecycle = lifecycles.get(uid);
    if (lifecycle !== undefined && !hasEnded(lifecycle)) return;
    conditions.forget(uid);
    this.#pending.delete(uid);
    if (lifecycle === undefined && (this.#gone.delete(uid) || desired.get(uid) === undefined))
      allocations.forget(uid);
    // differs from upstream: what has ended makes room at once, not only when its object is deleted.
    this.#retry('pods_removed');
  }

  #retry(trigger: RetryTrigger): void {
    if (this.#pending.size === 0) return;
    this.#trigger = trigger;
    this.#queue.add('retry');
  }

  async #retryAll(signal: AbortSignal): Promise<void> {
    const { desired } = this.#deps.stores;
    const trigger = this.#trigger;
    this.#trigger = 'periodic_retry';
    if (!desired.sourcesReady()) {
      this.#queue.addAfter('retry', untilReadyMs);
      return;
    }
    for (const { uid } of orderPending(this.#describePending())) await this.#tryOne(uid, trigger, signal);
    if (this.#pending.size > 0) this.#queue.addAfter('retry', periodMs);
  }

  #describePending() {
    const { allocations, conditions, desired } = this.#deps.stores;
    const { node } = this.#deps;
    return [...this.#pending].flatMap((uid) => {
      const pod = desired.get(uid)?.pod;
      if (pod === undefined) return [];
      return {
        uid,
        asksForMore: asksForMore(pod, allocations.podOf(pod), node.rules),
        priority: pod.spec?.priority ?? 0,
        guaranteed: podQosClass(pod) === 'Guaranteed',
        sinceMs: conditions.get(uid)?.pending?.sinceMs,
      };
    });
  }

  async #tryOne(uid: PodUid, trigger: RetryTrigger, signal: AbortSignal): Promise<void> {
    const { allocations, conditions, desired } = this.#deps.stores;
    const { admission, node, report } = this.#deps;
    const pod = desired.get(uid)?.pod;
    // Its admission wakes us again.
    if (pod === undefined || admission.admittedPod(uid) === undefined) return;
    const allocated = allocations.podOf(pod);
    if (allocated === pod) {
      this.#settle(uid);
      return;
    }
    const generation = pod.metadata?.generation ?? 0;
    const infeasible = whyInfeasible(pod, allocated, node.allocatable(), node.rules);
    if (infeasible !== undefined) {
      report.counts.infeasible(infeasible.detail);
      this.#pending.delete(uid);
      conditions.setPending(uid, { reason: 'Infeasible', message: infeasible.message, generation });
      report.log
        .v(3)
        .info('Resize is infeasible', { pod: podRef(pod), podUID: uid, why: infeasible.message });
      return;
    }
    const refusal = await admission.resize(pod, signal);
    signal.throwIfAborted();
    // While room was made the spec may have changed once more: then this answer is about nothing.
    if (!stillAsked(pod, desired.get(uid)?.pod)) return;
    if (refusal !== undefined) {
      conditions.setPending(uid, { reason: 'Deferred', message: refusal.message, generation });
      report.log.v(3).info('Resize has to wait', { pod: podRef(pod), podUID: uid, why: refusal.message });
      return;
    }
    if (conditions.isDeferred(uid)) report.counts.acceptedAfterWait(trigger);
    this.#pending.delete(uid);
    conditions.begin(uid, generation);
    report.log.info('Resize granted', { pod: podRef(pod), podUID: uid });
    allocations.allocate(pod);
  }

  #settle(uid: PodUid): void {
    this.#pending.delete(uid);
    this.#deps.stores.conditions.clearPending(uid);
  }
}

function stillAsked(pod: Pod, now: Pod | undefined): boolean {
  if (now === undefined) return false;
  return pod === now || !isResized(now, pod);
}
