// Metric of the health of storage, as CSI drivers report it. Name and labels are upstream's.
// Upstream: pkg/kubelet/volumemanager/volumehealth/metrics.go.
// Invariants: a driver has the series of its latest report only; a driver has few conditions, with bounded reasons.
import type { Metrics } from '../base/metrics.ts';

interface Condition {
  readonly status: string;
  readonly reason: string;
}

export class StorageHealthMetrics {
  readonly #status;
  readonly #reported = new Map<string, readonly Condition[]>();

  constructor(metrics: Metrics) {
    this.#status = metrics.gauge({
      name: 'csi_node_storage_health_status',
      help: 'Conditions of the storage of CSI drivers, as they report them; 1 for each.',
      labels: ['driver_name', 'status', 'reason'],
    });
  }

  replace(driver: string, conditions: readonly Condition[]): void {
    for (const { reason, status } of this.#reported.get(driver) ?? [])
      this.#status.remove({ driver_name: driver, status, reason });
    if (conditions.length === 0) this.#reported.delete(driver);
    else this.#reported.set(driver, conditions);
    for (const { reason, status } of conditions) this.#status.set({ driver_name: driver, status, reason }, 1);
  }
}
