// /metrics/slis: the results of all health checks so far. DELETE resets them.
// Upstream: k8s.io/component-base/metrics/prometheus/slis.
import { Metrics } from '../../base/metrics.ts';
import { type RouteHandler, textResponse } from '../http-message.ts';

export class HealthSlis {
  #metrics = new Metrics();
  #series = series(this.#metrics);

  observe(name: string, isHealthy: boolean): void {
    const labels = { name, type: 'healthz' };
    this.#series.last.set(labels, isHealthy ? 1 : 0);
    this.#series.total.inc({ ...labels, status: isHealthy ? 'success' : 'error' });
  }

  /** For the test that compares the documentation with the families. */
  describe(): ReturnType<Metrics['describe']> {
    return this.#metrics.describe();
  }

  readonly handle: RouteHandler = ({ method }) => {
    if (method === 'DELETE') {
      this.#metrics = new Metrics();
      this.#series = series(this.#metrics);
      return textResponse('metrics reset\n');
    }
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };
    return { status: 200, headers, body: this.#metrics.render() };
  };
}

function series(metrics: Metrics) {
  return {
    last: metrics.gauge({
      name: 'kubernetes_healthcheck',
      help: 'The last result of a check of /healthz: 1 if it passed.',
      labels: ['name', 'type'],
    }),
    total: metrics.counter({
      name: 'kubernetes_healthchecks_total',
      help: 'Results of the checks of /healthz, by status.',
      labels: ['name', 'type', 'status'],
    }),
  };
}
