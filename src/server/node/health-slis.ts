// /metrics/slis: what checks of /healthz have found, each time they were asked. DELETE forgets it.
// Upstream: k8s.io/component-base/metrics/prometheus/slis.
import { Metrics } from '../../base/metrics.ts';
import { type RouteHandler, textResponse } from '../http-message.ts';

export class HealthSlis {
  #metrics = new Metrics();
  #series = series(this.#metrics);

  observe(name: string, well: boolean): void {
    const labels = { name, type: 'healthz' };
    this.#series.last.set(labels, well ? 1 : 0);
    this.#series.total.inc({ ...labels, status: well ? 'success' : 'error' });
  }

  /** For the documentation's test. */
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
      help: 'What a check of /healthz found last: 1 when it was well.',
      labels: ['name', 'type'],
    }),
    total: metrics.counter({
      name: 'kubernetes_healthchecks_total',
      help: 'What checks of /healthz have found.',
      labels: ['name', 'type', 'status'],
    }),
  };
}
