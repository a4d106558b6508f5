// Metrics of the live data of the node's page. Upstream has no counterpart.
import type { Metrics } from '../../base/metrics.ts';

export class FeedMetrics {
  readonly #viewers;
  readonly #dropped;
  readonly #samples;

  constructor(registry: Metrics) {
    this.#viewers = registry.gauge({
      name: 'kubelet_dashboard_viewers',
      help: "Viewers of the node's page that are connected.",
    });
    this.#viewers.set({}, 0);
    this.#dropped = registry.counter({
      name: 'kubelet_dashboard_dropped_viewers_total',
      help: "Viewers of the node's page that were disconnected because they did not read.",
    });
    this.#samples = registry.histogram({
      name: 'kubelet_dashboard_sample_duration_seconds',
      help: "CPU time of sampling the usage of all pods for the node's page.",
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25],
    });
  }

  setViewers(count: number): void {
    this.#viewers.set({}, count);
  }

  countDropped(): void {
    this.#dropped.inc({});
  }

  observeSample(seconds: number): void {
    this.#samples.observe({}, seconds);
  }
}
