// Metrics of volumes with a claim and of container logs. Invariant: removed volumes and containers have no series.
// Upstream: pkg/kubelet/metrics/collectors (volume_stats.go, log_metrics.go), with the same names and labels.
import type { VolumeUsage } from '../api/ports/volume-stats.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import type { CollectedDisk } from './collect/collect-disk.ts';

const volumeGauges: Readonly<Record<string, readonly [string, (volume: VolumeUsage) => number]>> = {
  kubelet_volume_stats_capacity_bytes: [
    'Capacity of the volume in bytes, by claim.',
    (each) => each.capacityBytes,
  ],
  kubelet_volume_stats_available_bytes: [
    'Available bytes of the volume, by claim.',
    (each) => each.availableBytes,
  ],
  kubelet_volume_stats_used_bytes: ['Used bytes of the volume, by claim.', (each) => each.usedBytes],
  kubelet_volume_stats_inodes: ['Inodes of the volume, by claim.', (each) => each.inodes],
  kubelet_volume_stats_inodes_free: ['Free inodes of the volume, by claim.', (each) => each.inodesFree],
  kubelet_volume_stats_inodes_used: ['Used inodes of the volume, by claim.', (each) => each.inodesUsed],
};

type ClaimLabels = 'namespace' | 'persistentvolumeclaim';

export class DiskMetrics {
  readonly #volumes: readonly (readonly [Gauge<ClaimLabels>, (volume: VolumeUsage) => number])[];
  readonly #logs;

  constructor(registry: Metrics) {
    this.#volumes = Object.entries(volumeGauges).map(([name, [help, pick]]) => [
      registry.gauge({ name, help, labels: ['namespace', 'persistentvolumeclaim'] }),
      pick,
    ]);
    this.#logs = registry.gauge({
      name: 'kubelet_container_log_filesystem_used_bytes',
      help: "Disk usage of a container's logs.",
      labels: ['uid', 'namespace', 'pod', 'container'],
    });
  }

  show({ pods }: CollectedDisk): void {
    for (const [gauge] of this.#volumes) gauge.clear();
    this.#logs.clear();
    for (const { logs, pod, volumes } of pods.values()) {
      for (const [container, { bytes }] of logs)
        this.#logs.set({ uid: pod.uid, namespace: pod.namespace, pod: pod.name, container }, bytes);
      for (const volume of volumes) {
        if (volume.claim === undefined) continue;
        const labels = { namespace: volume.claim.namespace, persistentvolumeclaim: volume.claim.name };
        for (const [gauge, pick] of this.#volumes) gauge.set(labels, pick(volume));
      }
    }
  }
}
