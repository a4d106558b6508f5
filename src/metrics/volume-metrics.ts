// Metrics of volume operations and the number of volumes. Names, labels and buckets are upstream's.
// Upstream: pkg/volume/util/metrics.go and pkg/kubelet/volumemanager/metrics.
import type { Metrics } from '../base/metrics.ts';

interface VolumeOperation {
  readonly plugin: string;
  readonly operation: string;
  readonly migrated?: boolean;
  readonly seconds: number;
  readonly failed: boolean;
}

/** The plugin name of each volume. */
interface VolumeCounts {
  readonly desired: readonly string[];
  readonly mounted: readonly string[];
}

export class VolumeMetrics {
  readonly #operations;
  readonly #measuring;
  readonly #total;
  #counts: () => VolumeCounts = () => ({ desired: [], mounted: [] });

  constructor(metrics: Metrics) {
    this.#operations = metrics.histogram({
      name: 'storage_operation_duration_seconds',
      help: 'Duration of mounts and unmounts, by volume plugin.',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    });
    this.#measuring = metrics.histogram({
      name: 'kubelet_volume_metric_collection_duration_seconds',
      help: 'Duration of measuring the usage of a volume: `du` by walking it, `fsquota` by a file system quota, or by a CSI driver.',
      labels: ['metric_source'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    });
    this.#total = metrics.gauge({
      name: 'volume_manager_total_volumes',
      help: 'Desired and mounted volumes, by plugin.',
      labels: ['plugin_name', 'state'],
    });
    metrics.onCollect(() => this.#collect());
  }

  observe({ plugin, operation, seconds, failed, migrated = false }: VolumeOperation): void {
    const labels = {
      volume_plugin: plugin,
      operation_name: operation,
      status: failed ? 'fail-unknown' : 'success',
      migrated: `${migrated}`,
    };
    this.#operations.observe(labels, seconds);
  }

  measured(source: string, seconds: number): void {
    this.#measuring.observe({ metric_source: source }, seconds);
  }

  /** Sets the source of the counts, which is read at each scrape. */
  countBy(counts: () => VolumeCounts): void {
    this.#counts = counts;
  }

  #collect(): void {
    this.#total.clear();
    const { desired, mounted } = this.#counts();
    this.#count(desired, 'desired_state_of_world');
    this.#count(mounted, 'actual_state_of_world');
  }

  #count(plugins: readonly string[], state: string): void {
    for (const plugin of new Set(plugins))
      this.#total.set({ plugin_name: plugin, state }, plugins.filter((each) => each === plugin).length);
  }
}
