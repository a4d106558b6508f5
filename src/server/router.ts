// Finds who answers a path. Two kinds of route, as upstream has them: plain ones take every method; services know their
// patterns, their methods and what they produce. A path that no route has is refused before anybody is asked who the client
// is; whatever else is wrong with a request is told only to who may know.
// Upstream: net/http.ServeMux and the go-restful container in pkg/kubelet/server.
import {
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  notFound,
  type RouteHandler,
  refusal,
} from './http-message.ts';
import type { RouteRow } from './route-table.ts';

export interface Route {
  readonly row: RouteRow;
  readonly handle: RouteHandler;
}

/** Says why a request is not let through to a row, or nothing when it is. */
export type Admit = (request: HttpRequest, row: RouteRow) => Promise<HttpResponse | undefined>;

export function route(routes: readonly Route[], admit?: Admit): HttpHandler {
  return (request) => {
    const clean = cleanPath(request.path);
    if (clean !== request.path) return moved(clean, request);
    for (const each of routes) {
      const { path } = each.row;
      if (`${request.path}/` === path) return moved(path, request);
      const answer = tryRoute(each, request);
      if (answer === undefined) continue;
      return admit === undefined ? answer() : admitted(admit, request, each.row, answer);
    }
    return notFound();
  };
}

type Answer = () => HttpAnswer | Promise<HttpAnswer>;

async function admitted(
  admit: Admit,
  request: HttpRequest,
  row: RouteRow,
  answer: Answer,
): Promise<HttpAnswer> {
  const refused = await admit(request, row);
  if (refused !== undefined) return refused;
  request.admitted?.();
  return await answer();
}

function tryRoute({ row, handle }: Route, request: HttpRequest): Answer | undefined {
  if (row.kind === 'service') {
    const below = isBelow(request.path, row.path);
    return below === undefined ? undefined : () => serve(row, handle, request, below);
  }
  if (row.path.endsWith('/')) {
    return request.path.startsWith(row.path) ? () => handle({ ...request, params: {} }) : undefined;
  }
  const params = match(row.path, request.path, false);
  return params && (() => handle({ ...request, params }));
}

/** What follows a service's root in a path; undefined when the path is another one's. */
function isBelow(path: string, root: string): string | undefined {
  const base = root.endsWith('/') ? root.slice(0, -1) : root;
  if (path === base) return '';
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined;
}

function serve(row: RouteRow, handle: RouteHandler, request: HttpRequest, below: string): ReturnType<Answer> {
  const params = firstMatch(row.patterns ?? [''], below);
  if (params === undefined) return refusal(404, '404: Page Not Found');
  const methods = row.methods ?? [];
  if (!methods.includes(request.method)) {
    return refusal(405, '405: Method Not Allowed', { allow: methods.join(', ') });
  }
  if (row.produces !== undefined && !accepts(request, row.produces)) {
    return refusal(406, `406: Not Acceptable\n\nAvailable representations: ${row.produces}`);
  }
  return handle({ ...request, params });
}

type Params = Readonly<Record<string, string>>;

function firstMatch(patterns: readonly string[], path: string): Params | undefined {
  for (const pattern of patterns) {
    const params = match(pattern, path, true);
    if (params !== undefined) return params;
  }
  return undefined;
}

/** What `{name}` and `{name:*}` of the pattern stand for. A slash at the end counts only where it must. */
function match(pattern: string, path: string, slashless: boolean): Params | undefined {
  const wanted = segments(pattern);
  const given = segments(path);
  if (!slashless && path.endsWith('/')) return undefined;
  const params: Record<string, string> = {};
  for (const [index, want] of wanted.entries()) {
    const rest = /^\{(\w+):\*\}$/.exec(want)?.[1];
    if (rest !== undefined) return { ...params, [rest]: given.slice(index).join('/') };
    const got = given[index];
    if (got === undefined) return undefined;
    const name = /^\{(\w+)\}$/.exec(want)?.[1];
    if (name !== undefined) params[name] = got;
    else if (want !== got) return undefined;
  }
  return wanted.length === given.length ? params : undefined;
}

function segments(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
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
