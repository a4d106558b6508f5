// The rows of the node's page: what the loopback port and the local socket serve, to clients without credentials. Upstream has no
// counterpart.
import type { Tracer } from '../base/tracer.ts';
import {
  errorResponse,
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
  restfulError,
} from './http-message.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { type Admit, type Route, route } from './router.ts';
import { type RouteHandlers, type RouteSettings, routesOf } from './routes.ts';
import { tracedRoutes } from './traced-routes.ts';
import { accessHandler } from './ui-access.ts';

/** Besides those below /ui/. */
const served: ReadonlySet<string> = new Set([
  'health',
  'healthCheck',
  'pods',
  'history',
  'explainEviction',
  'explain',
  'summary',
  'metrics',
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'configz',
  'configHistory',
]);

export interface PageRoutesDeps {
  readonly config: Omit<RouteSettings, 'port' | 'gates'>;
  readonly gates: RouteSettings['gates'];
  readonly handlers: RouteHandlers;
  readonly metrics: Pick<HttpMetrics, 'instrument'>;
  readonly tracer?: Tracer | undefined;
}

/** `admit` rejects requests before they are answered. */
export function pageHandler(deps: PageRoutesDeps, name: 'dashboard' | 'local', admit: Admit): HttpHandler {
  const { config, gates, metrics, tracer } = deps;
  const handlers = { ...deps.handlers, uiAccess: accessHandler(admit, config.enableDebuggingHandlers) };
  const routes = routesOf({ ...config, port: 'secure', gates }, handlers).filter(
    ({ row }) => row.path.startsWith('/ui/') || served.has(row.name),
  );
  const traced = tracedRoutes(routes, 'read-only', tracer);
  return metrics.instrument(name, routes, withStart(route(traced.map((each) => guarded(each, admit)))));
}

/** The limits of unknown clients are lifted only for those that act: others can read within them. */
function guarded({ handle, row }: Route, admit: Admit): Route {
  return {
    row,
    handle: async (request) => {
      if (row.acts !== true && !isRead(request)) {
        return restfulError(405, '405: Method Not Allowed', { allow: 'GET, HEAD' });
      }
      const rejection = await admit(request, row);
      if (rejection !== undefined) return rejection;
      if (row.acts === true) request.admitted?.();
      return await handle(request);
    },
  };
}

/** POST /stats/summary is another GET. */
export function isRead({ method, path }: Pick<HttpRequest, 'method' | 'path'>): boolean {
  return (
    method === 'GET' ||
    method === 'HEAD' ||
    (method === 'POST' && path.replace(/\/$/, '') === '/stats/summary')
  );
}

function withStart(handler: HttpHandler): HttpHandler {
  return (request): HttpAnswer | Promise<HttpAnswer> => {
    if (request.path !== '/') return handler(request);
    if (!isRead(request)) return errorResponse(405, 'Method Not Allowed');
    return { status: 302, headers: { location: 'ui/' }, body: '' };
  };
}
