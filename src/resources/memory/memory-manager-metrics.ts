// Metrics of the memory manager. Upstream: pkg/kubelet/metrics.
import type { Metrics } from '../../base/metrics.ts';

export class MemoryManagerMetrics {
  readonly #requests;
  readonly #errors;

  constructor(registry: Metrics) {
    this.#requests = registry.counter({
      name: 'kubelet_memory_manager_pinning_requests_total',
      help: '[ALPHA] The number of memory pages allocations which required pinning.',
    });
    this.#errors = registry.counter({
      name: 'kubelet_memory_manager_pinning_errors_total',
      help: '[ALPHA] The number of memory pages allocations which required pinning that failed.',
    });
  }

  /** A container of a Guaranteed pod requests memory of its own. */
  requested(): void {
    this.#requests.inc({});
  }

  /** The request could not be satisfied. */
  failed(): void {
    this.#errors.inc({});
  }
}
