// The answers that handlers give most. They look as Go's net/http and go-restful make them, since people's scripts compare
// them. The types are those of api/http.ts, named here for who imports both.
import type { HttpAnswer, HttpRequest, HttpResponse } from '../api/ports/http.ts';

export type { HttpAnswer, HttpHandler, HttpRequest, HttpResponse } from '../api/ports/http.ts';

/** A request with what the route's pattern took from its path. */
export interface RoutedRequest extends HttpRequest {
  readonly params: Readonly<Record<string, string>>;
}

export type RouteHandler = (request: RoutedRequest) => HttpAnswer | Promise<HttpAnswer>;

const plainText = 'text/plain; charset=utf-8';

export function textResponse(body: string): HttpResponse {
  return { status: 200, headers: { 'content-type': plainText }, body };
}

/** With the line end and the headers of http.Error. */
export function errorResponse(status: number, message: string): HttpResponse {
  return {
    status,
    headers: { 'content-type': plainText, 'x-content-type-options': 'nosniff' },
    body: `${message}\n`,
  };
}

/** Without a line end, as go-restful refuses what its routes do not take and as its handlers write errors. */
export function refusal(
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
