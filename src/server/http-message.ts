// A request and its answer as plain data: handlers decide, and an edge that owns the socket reads and writes.
// Answers look as Go's net/http and go-restful make them, since people's scripts compare them.

export interface HttpRequest {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export type HttpHandler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

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

/** Without a line end, as go-restful refuses what its routes do not take. */
export function refusal(status: number, message: string, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers: { 'content-type': plainText, ...headers }, body: message };
}

export function notFound(): HttpResponse {
  return errorResponse(404, '404 page not found');
}

export function jsonResponse(body: Uint8Array): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}
