// The common responses of handlers, byte for byte as Go's net/http and go-restful write them, since scripts compare them.
// Re-exports the types of api/ports/http.ts.
import type { HttpAnswer, HttpRequest, HttpResponse } from '../api/ports/http.ts';

export type { HttpAnswer, HttpHandler, HttpRequest, HttpResponse } from '../api/ports/http.ts';

/** A request with the parameters that the route's pattern matched in its path. */
export interface RoutedRequest extends HttpRequest {
  readonly params: Readonly<Record<string, string>>;
  /** The whole pattern that matched, for routes that have patterns. */
  readonly pattern?: string;
}

export type RouteHandler = (request: RoutedRequest) => HttpAnswer | Promise<HttpAnswer>;

const plainText = 'text/plain; charset=utf-8';

export function textResponse(body: string): HttpResponse {
  return { status: 200, headers: { 'content-type': plainText }, body };
}

/** As Go's http.Error: with its headers and a trailing newline. */
export function errorResponse(status: number, message: string): HttpResponse {
  return {
    status,
    headers: { 'content-type': plainText, 'x-content-type-options': 'nosniff' },
    body: `${message}\n`,
  };
}

/** As go-restful writes errors: without a trailing newline. */
export function restfulError(
  status: number,
  message: string | Uint8Array,
  headers: Record<string, string> = {},
): HttpResponse {
  return { status, headers: { 'content-type': plainText, ...headers }, body: message };
}

export function notFound(): HttpResponse {
  return errorResponse(404, '404 page not found');
}

export function jsonResponse(body: Uint8Array | string): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}
