// Metric of calls of CSI drivers. Name, labels and buckets are upstream's. Upstream: pkg/volume/util/metrics.go.
// Invariant: methods and codes are those of the node service and of gRPC; drivers are those that registered.
import type { Metrics } from '../base/metrics.ts';

interface CsiCall {
  readonly driver: string;
  /** `/csi.v1.Node/NodeStageVolume` */
  readonly method: string;
  /** `OK`, or Go's name of the gRPC code; `unknown-non-grpc` for an error without one. */
  readonly code: string;
  readonly migrated: boolean;
  readonly seconds: number;
}

export class CsiMetrics {
  readonly #calls;

  constructor(metrics: Metrics) {
    this.#calls = metrics.histogram({
      name: 'csi_operations_seconds',
      help: 'Duration of calls of CSI drivers, by driver, method and gRPC status.',
      labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    });
  }

  observe({ driver, method, code, migrated, seconds }: CsiCall): void {
    const labels = {
      driver_name: driver,
      method_name: method,
      grpc_status_code: code,
      migrated: `${migrated}`,
    };
    this.#calls.observe(labels, seconds);
  }
}
