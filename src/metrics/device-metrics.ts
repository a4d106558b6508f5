// Metrics of device plugins. Upstream: pkg/kubelet/metrics.
// Invariant: the label is the valid name of an extended resource, and the device manager bounds how many it accepts.
import { defaultBuckets, type Metrics } from '../base/metrics.ts';

export class DeviceMetrics {
  readonly #registrations;
  readonly #durations;

  constructor(registry: Metrics) {
    this.#registrations = registry.counter({
      name: 'kubelet_device_plugin_registration_total',
      help: 'Registrations of device plugins, by resource.',
      labels: ['resource_name'],
    });
    this.#durations = registry.histogram({
      name: 'kubelet_device_plugin_alloc_duration_seconds',
      help: 'Duration of allocations by device plugins, by resource.',
      labels: ['resource_name'],
      buckets: defaultBuckets,
    });
  }

  registered(resource: string): void {
    this.#registrations.inc({ resource_name: resource });
  }

  allocated(resource: string, seconds: number): void {
    this.#durations.observe({ resource_name: resource }, seconds);
  }
}
