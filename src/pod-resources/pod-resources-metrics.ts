// Metrics of podresources. Upstream: pkg/kubelet/metrics, set in pkg/kubelet/apis/podresources.
import type { Metrics } from '../base/metrics.ts';
import type { ApiVersion } from './encode.ts';

const labels = ['server_api_version'] as const;
const broken = 'Broken down by server api version.';

const methods = {
  list: 'List',
  get_allocatable: 'GetAllocatableResources',
  get: 'Get',
} as const;

export type PodResourcesMethod = keyof typeof methods;

export class PodResourcesMetrics {
  readonly #all;
  readonly #byMethod;

  constructor(registry: Metrics) {
    this.#all = registry.counter({
      name: 'kubelet_pod_resources_endpoint_requests_total',
      help: `[ALPHA] Cumulative number of requests to the PodResource endpoint. ${broken}`,
      labels,
    });
    const of = (method: PodResourcesMethod) => ({
      requests: registry.counter({
        name: `kubelet_pod_resources_endpoint_requests_${method}`,
        help: `[ALPHA] Number of requests to the PodResource ${methods[method]} endpoint. ${broken}`,
        labels,
      }),
      errors: registry.counter({
        name: `kubelet_pod_resources_endpoint_errors_${method}`,
        help: `[ALPHA] Number of requests to the PodResource ${methods[method]} endpoint which returned error. ${broken}`,
        labels,
      }),
    });
    this.#byMethod = { list: of('list'), get_allocatable: of('get_allocatable'), get: of('get') };
  }

  /** A request has passed the rate limit. As upstream, those of v1alpha1 count only in the total. */
  request(version: ApiVersion, method: PodResourcesMethod): void {
    this.#all.inc({ server_api_version: version });
    if (version === 'v1') this.#byMethod[method].requests.inc({ server_api_version: version });
  }

  error(version: ApiVersion, method: PodResourcesMethod): void {
    if (version === 'v1') this.#byMethod[method].errors.inc({ server_api_version: version });
  }
}
