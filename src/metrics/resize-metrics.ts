// Metrics of in-place pod resizes: requested, pending, infeasible and completed. Upstream: pkg/kubelet/metrics.
import type { Pod } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Subscribable } from '../base/channel.ts';
import { type Component, on, reaction } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';

const durationBucketsMs = [
  10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

const deferredBucketsSeconds = [5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600];

/** Buckets of pod priorities, the highest first. */
const priorityBuckets = [
  ['system-critical', 2_000_000_000],
  ['high', 100_000],
  ['medium', 1],
  ['normal', 0],
  ['low', -999],
] as const;

interface ResizeState {
  readonly pending?: { readonly reason: string };
  readonly inProgress?: object;
}

export class ResizeMetrics {
  readonly #requested;
  readonly #durations;
  readonly #pending;
  readonly #infeasible;
  readonly #inProgress;
  readonly #accepted;
  readonly #deferred;

  constructor(registry: Metrics) {
    this.#requested = registry.counter({
      name: 'kubelet_container_requested_resizes_total',
      help: 'Requested resizes, per resource of each container.',
      labels: ['resource', 'requirement', 'operation'],
    });
    this.#durations = registry.histogram({
      name: 'kubelet_pod_resize_duration_milliseconds',
      help: 'Duration of the actuation of a pod resize.',
      labels: ['success'],
      buckets: durationBucketsMs,
    });
    this.#pending = registry.gauge({
      name: 'kubelet_pod_pending_resizes',
      help: 'Pods with a pending resize, by reason and by bucket of the pod priority.',
      labels: ['reason', 'priority_bucket'],
    });
    this.#infeasible = registry.counter({
      name: 'kubelet_pod_infeasible_resizes_total',
      help: 'Infeasible resizes, by detail of the reason.',
      labels: ['reason_detail'],
    });
    this.#inProgress = registry.gauge({
      name: 'kubelet_pod_in_progress_resizes',
      help: 'Pods with an accepted resize that is in progress.',
    });
    this.#accepted = registry.counter({
      name: 'kubelet_pod_deferred_accepted_resizes_total',
      help: 'Resizes accepted after they were deferred, by the trigger of the retry.',
      labels: ['retry_trigger'],
    });
    this.#deferred = registry.histogram({
      name: 'kubelet_pod_deferred_resize_duration_seconds',
      help: 'Time for which a resize was deferred, by its resolution and by bucket of the pod priority.',
      labels: ['resolution', 'priority_bucket'],
      buckets: deferredBucketsSeconds,
    });
  }

  requested(resize: {
    readonly resource: string;
    readonly requirement: string;
    readonly operation: string;
  }): void {
    const { operation, requirement, resource } = resize;
    this.#requested.inc({ resource, requirement, operation });
  }

  took(ms: number, success: boolean): void {
    this.#durations.observe({ success: String(success) }, ms);
  }

  infeasible(detail: string): void {
    this.#infeasible.inc({ reason_detail: detail });
  }

  acceptedAfterWait(trigger: string): void {
    this.#accepted.inc({ retry_trigger: trigger });
  }

  /** `pod`: undefined if it was removed. */
  deferred(resolution: string, seconds: number, pod: Pod | undefined): void {
    this.#deferred.observe({ resolution, priority_bucket: priorityBucket(pod) }, seconds);
  }

  /** Counts pending and in-progress resizes whenever one changes. */
  follow(
    conditions: { all(): ReadonlyMap<PodUid, ResizeState>; readonly changed: Subscribable<PodUid> },
    desired: PodsView,
  ): Component {
    return reaction('resize-metrics', [on(conditions.changed, () => this.#count(conditions.all(), desired))]);
  }

  #count(all: ReadonlyMap<PodUid, ResizeState>, desired: PodsView): void {
    const states = [...all.values()];
    this.#inProgress.set({}, states.filter(({ inProgress }) => inProgress !== undefined).length);
    const counts = new Map<string, number>();
    for (const [uid, { pending }] of all) {
      const pod = desired.get(uid)?.pod;
      if (pending === undefined || pod === undefined) continue;
      const key = `${pending.reason.toLowerCase()} ${priorityBucket(pod)}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    this.#pending.clear();
    for (const [key, count] of counts) {
      const [reason = '', priority_bucket = ''] = key.split(' ');
      this.#pending.set({ reason, priority_bucket }, count);
    }
  }
}

interface PodsView {
  get(uid: PodUid): { readonly pod: Pod } | undefined;
}

function priorityBucket(pod: Pod | undefined): string {
  if (pod === undefined) return 'unknown';
  const priority = pod.spec?.priority ?? 0;
  return priorityBuckets.find(([, least]) => priority >= least)?.[0] ?? 'very-low';
}
