// Metrics of in-place pod resizes: requested, pending, infeasible and completed. Upstream: pkg/kubelet/metrics.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Subscribable } from '../base/channel.ts';
import { type Component, on, reaction } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';

const durationBucketsMs = [
  10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

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
      help: 'Pods with a pending resize, by reason.',
      labels: ['reason'],
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

  /** Counts pending and in-progress resizes whenever one changes. */
  follow(conditions: {
    all(): ReadonlyMap<PodUid, ResizeState>;
    readonly changed: Subscribable<PodUid>;
  }): Component {
    return reaction('resize-metrics', [
      on(conditions.changed, () => this.#count([...conditions.all().values()])),
    ]);
  }

  #count(all: readonly ResizeState[]): void {
    this.#inProgress.set({}, all.filter(({ inProgress }) => inProgress !== undefined).length);
    this.#pending.clear();
    for (const reason of ['Deferred', 'Infeasible']) {
      const count = all.filter(({ pending }) => pending?.reason === reason).length;
      if (count > 0) this.#pending.set({ reason: reason.toLowerCase() }, count);
    }
  }
}
