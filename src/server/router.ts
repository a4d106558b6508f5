// Finds who answers a path. Two kinds of route, as upstream has them: plain ones take exactly one path and every method;
// services take one path with or without a slash at the end, know their methods and what they produce.
// Upstream: net/http.ServeMux and the go-restful container in pkg/kubelet/server.
import { type HttpHandler, type HttpRequest, type HttpResponse, notFound, refusal } from './http-message.ts';

export interface PlainRoute {
  readonly kind: 'plain';
  readonly path: string;
  readonly handle: HttpHandler;
}

/** Everything below the path, which ends with a slash. */
export interface TreeRoute {
  readonly kind: 'tree';
  readonly path: string;
  readonly handle: HttpHandler;
}

export interface ServiceRoute {
  readonly kind: 'service';
  readonly path: string;
  readonly methods: readonly string[];
  readonly produces: string;
  readonly handle: HttpHandler;
}

export type Route = PlainRoute | TreeRoute | ServiceRoute;

export function route(routes: readonly Route[]): HttpHandler {
  return (request) => {
    const clean = cleanPath(request.path);
    if (clean !== request.path) return moved(clean, request);
    for (const each of routes) {
      const answer = tryRoute(each, request);
      if (answer !== undefined) return answer;
    }
    return notFound();
  };
}

function tryRoute(each: Route, request: HttpRequest): ReturnType<HttpHandler> | undefined {
  switch (each.kind) {
    case 'plain':
      return request.path === each.path ? each.handle(request) : undefined;
    case 'tree':
      if (`${request.path}/` === each.path) return moved(each.path, request);
      return request.path.startsWith(each.path) ? each.handle(request) : undefined;
    case 'service':
      return request.path === each.path || request.path.startsWith(`${each.path}/`)
        ? serve(each, request)
        : undefined;
    default:
      return undefined;
  }
}

function serve(service: ServiceRoute, request: HttpRequest): ReturnType<HttpHandler> {
  const below = request.path.slice(service.path.length);
  if (below !== '' && below !== '/') return refusal(404, '404: Page Not Found');
  if (!service.methods.includes(request.method)) {
    return refusal(405, '405: Method Not Allowed', { allow: service.methods.join(', ') });
  }
  if (!accepts(request, service.produces)) {
    return refusal(406, `406: Not Acceptable\n\nAvailable representations: ${service.produces}`);
  }
  return service.handle(request);
}

function accepts(request: HttpRequest, produced: string): boolean {
  const header = request.headers['accept'];
  const accept = typeof header === 'string' ? header : header?.[0];
  if (accept === undefined || accept === '') return true;
  return accept
    .split(',')
    .map((part) => part.split(';')[0]?.trim())
    .some((type) => type === '*/*' || type === produced);
}

function moved(to: string, request: HttpRequest): HttpResponse {
  const query = request.query.toString();
  const location = `${encodeURI(to)}${query === '' ? '' : `?${query}`}`;
  return {
    status: 301,
    headers: { location, 'content-type': 'text/html; charset=utf-8' },
    body: `<a href="${escapeHtml(location)}">Moved Permanently</a>.\n\n`,
  };
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  '"': '&#34;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[<>&"']/g, (found) => htmlEscapes[found] ?? found);
}

/** Without doubled slashes and dot segments; a slash at the end stays. */
function cleanPath(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const clean = `/${kept.join('/')}`;
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}
