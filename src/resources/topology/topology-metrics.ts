// Metrics of the topology manager, and of resources that are aligned to a boundary of the machine, which the CPU manager counts
// as well. Upstream: pkg/kubelet/metrics, and Admit in pkg/kubelet/cm/topologymanager/topology_manager.go.
import type { Clock } from '../../base/clock.ts';
import { exponentialBuckets, type Metrics } from '../../base/metrics.ts';

interface Alignment {
  readonly scope: 'container' | 'pod';
  readonly boundary: 'numa_node' | 'physical_cpu' | 'uncore_cache';
}

const labels = ['scope', 'boundary'] as const;

export class TopologyMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #requests;
  readonly #errors;
  readonly #durations;
  readonly #aligned;
  readonly #notAligned;

  constructor(registry: Metrics, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#requests = registry.counter({
      name: 'kubelet_topology_manager_admission_requests_total',
      help: '[ALPHA] The number of admission requests where resources have to be aligned.',
    });
    this.#errors = registry.counter({
      name: 'kubelet_topology_manager_admission_errors_total',
      help: '[ALPHA] The number of admission request failures where resources could not be aligned.',
    });
    this.#durations = registry.histogram({
      name: 'kubelet_topology_manager_admission_duration_ms',
      help: '[ALPHA] Duration in milliseconds to serve a pod admission request.',
      buckets: exponentialBuckets(0.05, 2, 15),
    });
    this.#aligned = registry.counter({
      name: 'kubelet_container_aligned_compute_resources_count',
      help: '[ALPHA] Cumulative number of aligned compute resources allocated to containers by alignment type.',
      labels,
    });
    this.#notAligned = registry.counter({
      name: 'kubelet_container_aligned_compute_resources_failure_count',
      help: '[ALPHA] Cumulative number of failures to allocate aligned compute resources to containers by alignment type.',
      labels,
    });
  }

  /** Counts and times the admission of a pod. */
  admission<T>(admit: () => T): T {
    this.#requests.inc({});
    const beganMs = this.#clock.monotonic();
    try {
      return admit();
    } finally {
      // Upstream observes whole milliseconds.
      this.#durations.observe({}, Math.trunc(this.#clock.monotonic() - beganMs));
    }
  }

  admissionFailed(): void {
    this.#errors.inc({});
  }

  /** `by` 0 creates the series. */
  aligned(alignment: Alignment, by = 1): void {
    this.#aligned.inc({ ...alignment }, by);
  }

  /** `by` 0 creates the series. */
  notAligned(alignment: Alignment, by = 1): void {
    this.#notAligned.inc({ ...alignment }, by);
  }
}
