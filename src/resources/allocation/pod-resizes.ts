// The resize loop: grants, defers or rejects resizes of pods. Upstream: the allocation manager of pkg/kubelet/allocation and
// HandlePodUpdates, HandlePodRemoves and HandlePodReconcile in kubelet.go.
// Writes Allocations and ResizeConditions. A loop with one key: pending resizes are tried one after the other, in their order.
// Invariants: no resize is granted before every source is ready and the pod itself was admitted; a granted resize is
// allocated at once, so that the next decision counts it; the runtime applies the allocation, not the spec.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import { hasEnded } from '../../api/pod/active-pod.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef } from '../../api/pod/pod-ref.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import type { EventSink } from '../../api/ports/events.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { type Component, type LoopLoad, on } from '../../base/component.ts';
import { Aborted } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import type { DesiredPodsView } from './allocated-view.ts';
import type { Allocations } from './allocations.ts';
import { findInfeasibility, increasesRequests, isResized, type ResizeRules } from './decide-resize.ts';
import { orderPending } from './pending-order.ts';
import type { PodResizeConditions } from './pod-resize-conditions.ts';
import { PodUsage } from './pod-usage.ts';
import { type RequestedResize, requestedResizes } from './requested-resizes.ts';
import { resizeCompleted, resizeFailed, resizePending, resizeStarted } from './resize-events.ts';
import { alreadySized, isInProgress } from './resize-progress.ts';

/** What triggered the retry of a pending resize, as the metric names it. */
type RetryTrigger =
  | 'pod_resized'
  | 'pod_updated'
  | 'pods_added'
  | 'pods_removed'
  | 'pod_terminated'
  | 'periodic_retry';

interface ResizeAdmission {
  /** The pod as this process admitted it; undefined if it has not. */
  admittedPod(uid: PodUid): Pod | undefined;
  /** Announces every pod that was admitted. */
  readonly changed: Subscribable<PodUid>;
  /** Undefined if the node has room for the resized pod, possibly after preempting others. */
  resize(
    pod: Pod,
    signal: AbortSignal,
  ): Promise<{ readonly reason: string; readonly message: string } | undefined>;
}

type Resolution = 'accepted' | 'reverted' | 'terminated';

interface ResizeCounts {
  requested(resize: RequestedResize): void;
  infeasible(detail: string): void;
  acceptedAfterWait(trigger: RetryTrigger): void;
  /** A deferred resize was resolved. `pod`: undefined if it was removed. */
  deferred(resolution: Resolution, seconds: number, pod: Pod | undefined): void;
}

interface ResizeStores {
  /** With the resources their specs request, not those they were allocated. */
  readonly desired: DesiredPodsView<{ readonly uid: PodUid; readonly pod: Pod }>;
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
  readonly rules: ResizeRules;
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
  /** The pod as of the last change, to compare the next one with. */
  readonly #lastSpec = new Map<PodUid, Pod>();
  /** Removed pods that are still terminating. Their allocation is released when they have terminated, even if re-added. */
  readonly #removed = new Set<PodUid>();
  readonly #usage: PodUsage;
  #trigger: RetryTrigger = 'periodic_retry';

  constructor(deps: PodResizesDeps) {
    this.#deps = deps;
    this.#usage = new PodUsage(deps.stores, deps.rules);
    this.#queue = new KeyedQueue<'retry'>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: 1_000, maxMs: untilReadyMs },
      run: async (_key, signal) => await this.#retryAll(signal),
      onError: (_key, err) => deps.report.log.error('Failed to retry pending resizes', { err }),
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

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { desired } = this.#deps.stores;
    this.#queue.start();
    for (const { uid } of desired.all()) this.#podChanged(uid);
    if (desired.sourcesReady()) this.#begin();
    return { stopped: this.#drain(signal) };
  }

  /** Every source is ready. Drops the allocations of pods that no source has any more. */
  #begin(): void {
    const { allocations, desired, lifecycles } = this.#deps.stores;
    for (const uid of allocations.uids())
      if (desired.get(uid) === undefined && lifecycles.get(uid) === undefined) allocations.forget(uid);
    this.#retry('pods_added');
  }

  /** Allocates what the pod was admitted with. Its spec may request something else by now. */
  #admitted(uid: PodUid): void {
    const { allocations, desired } = this.#deps.stores;
    const pod = this.#deps.admission.admittedPod(uid);
    if (pod === undefined) return;
    allocations.allocate(pod);
    const requested = desired.get(uid)?.pod;
    if (requested === undefined) return;
    if (!isResized(requested, allocations.podOf(requested))) {
      // A pending resize that an earlier process reported has been withdrawn since.
      this.#clearPending(uid);
      return;
    }
    this.#pending.add(uid);
    this.#retry('pods_added');
  }

  /** Called before and after every sync. Updates the in-progress condition from the resources of the running containers. */
  check(uid: PodUid): void {
    const { allocations, conditions, desired, observed } = this.#deps.stores;
    const { report, rules } = this.#deps;
    const requested = desired.get(uid)?.pod;
    if (requested === undefined || !allocations.has(uid)) return;
    const pod = allocations.podOf(requested);
    const current = observed.get(uid);
    const actuated = {
      container: (name: string) => allocations.actuated(uid, name),
      podLevel: rules.podLevelResizes ? { actuated: allocations.actuatedPodLevel(uid) } : undefined,
    };
    for (const { name, resources } of alreadySized(pod, current, actuated))
      allocations.actuate(uid, name, resources ?? {});
    if (isInProgress(pod, current, actuated)) {
      conditions.setInProgress(uid, { reason: '', message: '', generation: pod.metadata?.generation ?? 0 });
      return;
    }
    const generation = conditions.clearInProgress(uid);
    if (generation === undefined) return;
    report.events.pod(pod, resizeCompleted(pod, generation));
    report.log.info('Pod resized', { pod: podRef(pod), podUID: uid });
    this.#retry('pod_resized');
  }

  /** Reports a failed attempt to apply a resize. The pod's worker retries it. */
  failed(uid: PodUid, message: string): void {
    const { allocations, conditions, desired } = this.#deps.stores;
    const requested = desired.get(uid)?.pod;
    if (requested === undefined) return;
    const update = { reason: 'Error', message, generation: requested.metadata?.generation ?? 0 };
    const { changed, generation } = conditions.setInProgress(uid, update);
    const pod = allocations.podOf(requested);
    if (changed) this.#deps.report.events.pod(pod, resizeFailed(pod, generation, message));
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
    const before = this.#lastSpec.get(uid);
    if (pod === undefined) {
      this.#lastSpec.delete(uid);
      this.#pending.delete(uid);
      if (lifecycles.get(uid) === undefined) allocations.forget(uid);
      else this.#removed.add(uid);
      this.#retry('pods_removed');
      return;
    }
    this.#lastSpec.set(uid, pod);
    if (before === undefined) {
      conditions.backfill(pod);
      return;
    }
    for (const each of requestedResizes(before, pod)) report.counts.requested(each);
    if (!isResized(pod, before)) return;
    if (allocations.podOf(pod) === pod) {
      // The resize was withdrawn before it was granted.
      this.#settle(uid);
      return;
    }
    this.#pending.add(uid);
    this.#retry('pod_updated');
  }

  #lifecycleChanged(uid: PodUid): void {
    const { allocations, conditions, desired, lifecycles } = this.#deps.stores;
    const lifecycle = lifecycles.get(uid);
    if (lifecycle !== undefined && !hasEnded(lifecycle)) return;
    this.#resolved(uid, 'terminated');
    conditions.forget(uid);
    this.#pending.delete(uid);
    if (lifecycle === undefined && (this.#removed.delete(uid) || desired.get(uid) === undefined))
      allocations.forget(uid);
    // differs from upstream: at once, not only when the API server reports the terminal phase.
    this.#retry('pod_terminated');
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
    const { rules } = this.#deps;
    return [...this.#pending].flatMap((uid) => {
      const pod = desired.get(uid)?.pod;
      if (pod === undefined) return [];
      return {
        uid,
        increasesRequests: increasesRequests(pod, allocations.podOf(pod), rules),
        priority: pod.spec?.priority ?? 0,
        guaranteed: podQosClass(pod) === 'Guaranteed',
        sinceMs: conditions.get(uid)?.pending?.sinceMs,
      };
    });
  }

  async #tryOne(uid: PodUid, trigger: RetryTrigger, signal: AbortSignal): Promise<void> {
    const { allocations, conditions, desired } = this.#deps.stores;
    const { admission, report, rules } = this.#deps;
    const pod = desired.get(uid)?.pod;
    // The admission of the pod wakes this loop again.
    if (pod === undefined || admission.admittedPod(uid) === undefined) return;
    const allocated = allocations.podOf(pod);
    if (allocated === pod) {
      this.#settle(uid);
      return;
    }
    const generation = pod.metadata?.generation ?? 0;
    const infeasible = findInfeasibility(pod, allocated, rules);
    if (infeasible !== undefined) {
      report.counts.infeasible(infeasible.detail);
      this.#pending.delete(uid);
      this.#setPending(uid, pod, { reason: 'Infeasible', message: infeasible.message });
      return;
    }
    const rejection = await admission.resize(pod, signal);
    signal.throwIfAborted();
    // The spec may have changed while other pods were preempted. Then this answer is obsolete.
    if (!isStillRequested(pod, desired.get(uid)?.pod)) return;
    if (rejection !== undefined) {
      this.#setPending(uid, pod, rejection);
      return;
    }
    if (conditions.isDeferred(uid)) report.counts.acceptedAfterWait(trigger);
    this.#pending.delete(uid);
    this.#resolved(uid, 'accepted');
    conditions.begin(uid, generation);
    report.log.info('Resize granted', { pod: podRef(pod), podUID: uid });
    allocations.allocate(pod);
    report.events.pod(pod, resizeStarted(pod, generation));
  }

  /** Every reason but Infeasible defers the resize. */
  #setPending(uid: PodUid, pod: Pod, why: { readonly reason: string; readonly message: string }): void {
    const { report, stores } = this.#deps;
    const { message } = why;
    const generation = pod.metadata?.generation ?? 0;
    const reason = why.reason === 'Infeasible' ? why.reason : 'Deferred';
    const isNew = stores.conditions.setPending(uid, { reason, message, generation });
    if (isNew) report.events.pod(pod, resizePending(pod, generation, why.reason, message));
    report.log.v(3).info('Resize is pending', { pod: podRef(pod), podUID: uid, reason, cause: message });
  }

  #settle(uid: PodUid): void {
    this.#pending.delete(uid);
    this.#clearPending(uid);
  }

  #clearPending(uid: PodUid): void {
    this.#resolved(uid, 'reverted');
    this.#deps.stores.conditions.clearPending(uid);
  }

  #resolved(uid: PodUid, resolution: Resolution): void {
    const { clock, report, stores } = this.#deps;
    const pending = stores.conditions.get(uid)?.pending;
    if (pending?.reason !== 'Deferred') return;
    const seconds = Math.max(0, clock.now() - pending.sinceMs) / 1_000;
    report.counts.deferred(resolution, seconds, stores.desired.get(uid)?.pod);
  }
}

function isStillRequested(pod: Pod, now: Pod | undefined): boolean {
  if (now === undefined) return false;
  return pod === now || !isResized(now, pod);
}
