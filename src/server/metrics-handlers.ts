// Handlers of the stats summary and of the Prometheus endpoints. Upstream: pkg/kubelet/server/stats/handler.go and the
// metrics handlers of pkg/kubelet/server/server.go.
import { describeError } from '../base/errors.ts';
import { jsonResponse, type RouteHandler, restfulError } from './http-message.ts';
import type { RouteHandlers } from './routes.ts';

const prometheusText = 'text/plain; version=0.0.4; charset=utf-8';

interface StatsHandlersDeps<Disk> {
  readonly stats: {
    summary(onlyCpuAndMemory: boolean): Promise<unknown>;
    resourceMetrics(): Promise<string>;
    cadvisorMetrics(): Promise<string>;
    disk(): Promise<Disk>;
  };
  /** The metrics of volumes and logs. They are measured when /metrics is scraped. */
  readonly diskMetrics: { show(disk: Disk): void };
  /** The kubelet's own metrics in Prometheus' text format. */
  readonly metrics: { render(): string };
}

export function statsHandlers<Disk>({ diskMetrics, metrics, stats }: StatsHandlersDeps<Disk>): RouteHandlers {
  return {
    summary: async ({ query }) => {
      const only = query.getAll('only_cpu_and_memory');
      try {
        const summary = await stats.summary(only.length === 1 && only[0] === 'true');
        // Indented as go-restful writes it.
        return jsonResponse(JSON.stringify(summary, undefined, 1));
      } catch (err) {
        return restfulError(500, `Internal Error: ${describeError(err)}`);
      }
    },
    resourceMetrics: metricsHandler(() => stats.resourceMetrics()),
    cadvisorMetrics: metricsHandler(() => stats.cadvisorMetrics()),
    metrics: metricsHandler(async () => {
      diskMetrics.show(await stats.disk());
      return metrics.render();
    }),
  };
}

/** Serves text in Prometheus' format. */
export function metricsHandler(render: () => string | Promise<string>): RouteHandler {
  return async () => ({ status: 200, headers: { 'content-type': prometheusText }, body: await render() });
}
