// The ports without TLS: health (10248) and, if configured, read-only (10255). Upstream: ListenAndServeKubeletReadOnlyServer and
// the healthz server of cmd/kubelet/app.
import type { Logger } from '../base/log/log.ts';
import type { Tracer } from '../base/tracer.ts';
import type { HealthCheck } from './health.ts';
import { type HttpHandler, restfulError } from './http-message.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { HttpServer, type Listening } from './http-server.ts';
import { isRead } from './page-routes.ts';
import { route } from './router.ts';
import type { RouteHandlers } from './routes.ts';
import { healthHandler, readOnlyRoutes } from './state-handlers.ts';
import { tracedRoutes } from './traced-routes.ts';

interface PlainPortsDeps {
  /** A port of 0 is not opened. */
  readonly config: {
    readonly healthzBindAddress: string;
    readonly healthzPort: number;
    readonly address: string;
    readonly readOnlyPort: number;
  };
  readonly checks: readonly HealthCheck[];
  readonly handlers: RouteHandlers;
  readonly metrics: Pick<HttpMetrics, 'instrument'>;
  readonly tracer?: Tracer | undefined;
  readonly listen: (options: {
    readonly host: string;
    readonly port: number;
    readonly flag: string;
    readonly handler: HttpHandler;
    readonly onError: (err: unknown) => void;
  }) => Promise<Listening>;
  readonly log: Logger;
}

/**
 * Rejects every method that could change something, since clients are not authenticated.
 * differs from upstream: there DELETE /metrics/slis resets the metrics.
 */
function onlyReads(handler: HttpHandler): HttpHandler {
  return (request) =>
    isRead(request) ? handler(request) : restfulError(405, '405: Method Not Allowed', { allow: 'GET, HEAD' });
}

export function plainPorts({
  checks,
  config,
  handlers,
  listen,
  log,
  metrics,
  tracer,
}: PlainPortsDeps): readonly HttpServer[] {
  const routes = readOnlyRoutes(handlers);
  const ports = [
    {
      name: 'healthz',
      host: config.healthzBindAddress,
      port: config.healthzPort,
      flag: '--healthz-port',
      handler: healthHandler(checks),
    },
    {
      name: 'read-only',
      host: config.address,
      port: config.readOnlyPort,
      flag: '--read-only-port',
      handler: metrics.instrument(
        'readonly',
        routes,
        onlyReads(route(tracedRoutes(routes, 'read-only', tracer))),
      ),
    },
  ];
  return ports
    .filter(({ port }) => port !== 0)
    .map(({ flag, handler, host, name, port }) => {
      const onError = (err: unknown): void => log.error('Failed to handle request', { server: name, err });
      return new HttpServer({
        name,
        handler,
        log,
        listen: (handle) => listen({ host, port, flag, handler: handle, onError }),
      });
    });
}
