// Metrics of the Pods API. Upstream: pkg/kubelet/metrics and the interceptors in pkg/kubelet/apis/pods.
import { rpcOutcomeName } from '../api/kubelet/rpc-service.ts';
import type { Metrics } from '../base/metrics.ts';

const labels = ['server_api_version', 'status_code'] as const;
const broken = 'Broken down by server api version and status code.';

export class PodsApiMetrics {
  readonly #dropped;
  readonly #all;
  readonly #byMethod;

  constructor(registry: Metrics) {
    this.#dropped = registry.counter({
      name: 'kubelet_pod_watch_events_dropped_total',
      help: '[ALPHA] Cumulative number of pod watch events dropped.',
    });
    this.#all = registry.counter({
      name: 'kubelet_pod_requests_total',
      help: `[ALPHA] Cumulative number of requests to the PodsAPI endpoint. ${broken}`,
      labels,
    });
    this.#byMethod = {
      list: registry.counter({
        name: 'kubelet_pod_requests_list_total',
        help: `[ALPHA] Number of requests to the PodsAPI List endpoint. ${broken}`,
        labels,
      }),
      get: registry.counter({
        name: 'kubelet_pod_requests_get_total',
        help: `[ALPHA] Number of requests to the PodsAPI Get endpoint. ${broken}`,
        labels,
      }),
      watch: registry.counter({
        name: 'kubelet_pod_requests_watch_total',
        help: `[ALPHA] Number of requests to the PodsAPI Watch endpoint. ${broken}`,
        labels,
      }),
    };
  }

  /** A request has ended, with this failure if any. */
  request(method: 'list' | 'get' | 'watch', failure: unknown): void {
    const of = { server_api_version: 'v1alpha1', status_code: rpcOutcomeName(failure) };
    this.#all.inc(of);
    this.#byMethod[method].inc(of);
  }

  /** A watcher was dropped, and its events with it. */
  watchDropped(): void {
    this.#dropped.inc({});
  }
}
