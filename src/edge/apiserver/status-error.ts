// Turns error responses of the API server into KubeletErrors. Upstream: apimachinery/pkg/api/errors.
// Invariant: reason, message and code are those of the server's Status; any other response body is dropped.
import { type ErrorKind, KubeletError } from '../../base/errors.ts';

interface StatusBody {
  readonly kind?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly details?: unknown;
}

const kindsByCode: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'forbidden',
  403: 'forbidden',
  404: 'not-found',
  405: 'invalid',
  406: 'invalid',
  408: 'timeout',
  409: 'conflict',
  // The resource version has expired: the caller starts again from the current state.
  410: 'conflict',
  413: 'invalid',
  415: 'invalid',
  422: 'invalid',
  429: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
  504: 'timeout',
};

const kindsByReason: Readonly<Record<string, ErrorKind>> = {
  ServerTimeout: 'timeout',
  Timeout: 'timeout',
  StoreReadError: 'unavailable',
};

const reasonsByCode: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function errorOf(code: number, reason: string, message: string, details: Record<string, unknown>) {
  const kind = kindsByReason[reason] ?? kindsByCode[code] ?? 'internal';
  return new KubeletError(kind, reason, message, { details: { code, ...details } });
}

/** The error that a Status object describes. `what` names the request in the message if the Status has none. */
export function fromStatus(status: StatusBody, httpStatus: number, what: string): KubeletError {
  const code = typeof status.code === 'number' && status.code > 0 ? status.code : httpStatus;
  const reason = typeof status.reason === 'string' && status.reason !== '' ? status.reason : undefined;
  const message = typeof status.message === 'string' && status.message !== '' ? status.message : undefined;
  const details = status.details === undefined ? {} : { statusDetails: status.details };
  return errorOf(
    code,
    reason ?? reasonsByCode[code] ?? 'Unknown',
    message ?? `${what}: the server responded with status ${code}`,
    details,
  );
}

/** The error for a response with this status and body. */
export function fromResponse(httpStatus: number, body: string, what: string): KubeletError {
  const parsed = parseObject(body);
  return fromStatus(parsed?.kind === 'Status' ? parsed : {}, httpStatus, what);
}

function parseObject(text: string): StatusBody | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    // For example an HTML page of a proxy: only the status code is usable.
    return undefined;
  }
}

/** The HTTP status of an error, if there was a response. */
export function statusCodeOf(err: unknown): number | undefined {
  const code = err instanceof KubeletError ? err.details['code'] : undefined;
  return typeof code === 'number' ? code : undefined;
}
