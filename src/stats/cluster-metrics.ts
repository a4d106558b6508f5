// What a node of a cluster does with its API server, beyond the requests themselves. Upstream: pkg/kubelet/metrics and
// pkg/kubelet/util/node_startup_latency_tracker.go. Invariant: the times of the start are written once.
import type { Metrics } from '../base/metrics.ts';

const syncBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];

export interface ClusterMetricsDeps {
  readonly registry: Metrics;
  readonly mirrorPods: () => number;
  /** By the monotonic clock, whose beginning is the start of the process. */
  readonly nowMs: () => number;
}

export class ClusterMetrics {
  readonly #nowMs: () => number;
  readonly #beganMs: number;
  readonly #statusSync;
  readonly #registration;
  readonly #total;
  #isRegistered = false;
  #isReady = false;

  constructor({ registry, mirrorPods, nowMs }: ClusterMetricsDeps) {
    this.#nowMs = nowMs;
    this.#beganMs = nowMs();
    this.#statusSync = registry.histogram({
      name: 'kubelet_pod_status_sync_duration_seconds',
      help: 'How long a pod status waited until the API server had it.',
      buckets: syncBuckets,
    });
    this.#registration = registry.gauge({
      name: 'kubelet_node_startup_registration_duration_seconds',
      help: 'How long it took until the node was registered.',
    });
    this.#total = registry.gauge({
      name: 'kubelet_node_startup_duration_seconds',
      help: 'How long it took until the node was ready.',
    });
    const mirrors = registry.gauge({
      name: 'kubelet_mirror_pods',
      help: 'Mirror pods of this node in the API.',
    });
    registry.onCollect(() => mirrors.set({}, mirrorPods()));
  }

  observeStatusSync(seconds: number): void {
    this.#statusSync.observe({}, seconds);
  }

  /** What the API has of the node, each time it was seen. */
  observeNode({ isReady }: { readonly isReady: boolean }): void {
    const seconds = (this.#nowMs() - this.#beganMs) / 1000;
    if (!this.#isRegistered) this.#registration.set({}, seconds);
    this.#isRegistered = true;
    if (isReady && !this.#isReady) this.#total.set({}, seconds);
    this.#isReady ||= isReady;
  }
}
