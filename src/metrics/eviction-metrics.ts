// Counts evictions, and how old the figures behind them were. Upstream: pkg/kubelet/metrics (Evictions, EvictionStatsAge).
import { defaultBuckets, type Metrics } from '../base/metrics.ts';

export class EvictionMetrics {
  readonly #evictions;
  readonly #statsAge;

  constructor(registry: Metrics) {
    this.#evictions = registry.counter({
      name: 'kubelet_evictions',
      help: 'Pods evicted, by eviction signal.',
      labels: ['eviction_signal'],
    });
    this.#statsAge = registry.histogram({
      name: 'kubelet_eviction_stats_age_seconds',
      help: 'Age of the statistics when pods are evicted based on them, by eviction signal.',
      labels: ['eviction_signal'],
      buckets: defaultBuckets,
    });
  }

  /** `signal`: an eviction signal, or the kind of local storage limit. */
  evicted(signal: string): void {
    this.#evictions.inc({ eviction_signal: signal });
  }

  statsAge(signal: string, seconds: number): void {
    this.#statsAge.observe({ eviction_signal: signal }, seconds);
  }
}
