// Finds the handler of a path. Two kinds of route, as upstream: plain routes accept every method; services have patterns,
// methods and a content type. An unknown path gets 404 before authentication; every other error of a request is reported only
// to authorized clients. Upstream: net/http.ServeMux and the go-restful container in pkg/kubelet/server.
import {
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  notFound,
  type RouteHandler,
  restfulError,
} from './http-message.ts';
import type { RouteRow } from './route-table.ts';

export interface Route {
  readonly row: RouteRow;
  readonly handle: RouteHandler;
}

/** Returns the rejection of a request to a row; undefined if it is admitted. */
export type Admit = (request: HttpRequest, row: RouteRow) => Promise<HttpResponse | undefined>;

export function route(routes: readonly Route[], admit?: Admit): HttpHandler {
  return (request) => {
    const clean = cleanPath(request.path);
    if (clean !== request.path) return moved(clean, request);
    for (const each of routes) {
      const { path, relative } = each.row;
      if (`${request.path}/` === path) {
        return moved(
          relative === true ? path.slice(path.lastIndexOf('/', path.length - 2) + 1) : path,
          request,
        );
      }
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
  const rejection = await admit(request, row);
  if (rejection !== undefined) return rejection;
  request.admitted?.();
  return await answer();
}

function tryRoute({ row, handle }: Route, request: HttpRequest): Answer | undefined {
  if (row.kind === 'service') {
    const below = pathBelow(request.path, row.path);
    return below === undefined ? undefined : () => serve(row, handle, request, below);
  }
  if (row.path.endsWith('/')) {
    return request.path.startsWith(row.path) ? () => handle({ ...request, params: {} }) : undefined;
  }
  const params = match(row.path, request.path, false);
  return params && (() => handle({ ...request, params }));
}

/** The path below a service's root; undefined if the path is not below it. */
function pathBelow(path: string, root: string): string | undefined {
  const base = root.endsWith('/') ? root.slice(0, -1) : root;
  if (path === base) return '';
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined;
}

function serve(row: RouteRow, handle: RouteHandler, request: HttpRequest, below: string): ReturnType<Answer> {
  const matched = firstMatch(row.patterns ?? [''], below);
  if (matched === undefined) return restfulError(404, '404: Page Not Found');
  const methods = row.methods ?? [];
  if (!methods.includes(request.method)) {
    return restfulError(405, '405: Method Not Allowed', { allow: methods.join(', ') });
  }
  if (row.produces !== undefined && !accepts(request, row.produces)) {
    return restfulError(406, `406: Not Acceptable\n\nAvailable representations: ${row.produces}`);
  }
  // As go-restful writes it: the root of a service ends with a slash.
  const pattern = row.path.replace(/\/$/, '') + (matched.pattern || '/');
  return handle({ ...request, params: matched.params, pattern });
}

type Params = Readonly<Record<string, string>>;

function firstMatch(
  patterns: readonly string[],
  path: string,
): { readonly pattern: string; readonly params: Params } | undefined {
  for (const pattern of patterns) {
    const params = match(pattern, path, true);
    if (params !== undefined) return { pattern, params };
  }
  return undefined;
}

/** The values of `{name}` and `{name:*}`. A trailing slash is ignored if `slashless`. */
function match(pattern: string, path: string, slashless: boolean): Params | undefined {
  const expected = segments(pattern);
  const actual = segments(path);
  if (!slashless && path.endsWith('/')) return undefined;
  const params: Record<string, string> = {};
  for (const [index, want] of expected.entries()) {
    const rest = /^\{(\w+):\*\}$/.exec(want)?.[1];
    if (rest !== undefined) return { ...params, [rest]: actual.slice(index).join('/') };
    const got = actual[index];
    if (got === undefined) return undefined;
    const name = /^\{(\w+)\}$/.exec(want)?.[1];
    if (name !== undefined) params[name] = got;
    else if (want !== got) return undefined;
  }
  return expected.length === actual.length ? params : undefined;
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

/** Without doubled slashes and dot segments; a trailing slash is kept. */
function cleanPath(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const clean = `/${kept.join('/')}`;
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}
