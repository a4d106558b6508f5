// Turns what the API server answers into the kubelet's own words. Upstream: apimachinery/pkg/api/errors.
// Invariant: reason, message and code are the server's own where it gave a Status; no answer's body is kept otherwise.
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
  // What was asked for is no longer there to be compared with: whoever asked starts from the present state.
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

/** The error that a Status object describes; `what` is told when it has no message. */
export function fromStatus(status: StatusBody, httpStatus: number, what: string): KubeletError {
  const code = typeof status.code === 'number' && status.code > 0 ? status.code : httpStatus;
  const reason = typeof status.reason === 'string' && status.reason !== '' ? status.reason : undefined;
  const message = typeof status.message === 'string' && status.message !== '' ? status.message : undefined;
  const details = status.details === undefined ? {} : { statusDetails: status.details };
  return errorOf(
    code,
    reason ?? reasonsByCode[code] ?? 'Unknown',
    message ?? `the server answered ${code} to ${what}`,
    details,
  );
}

/** The error that an answer with this body stands for. */
export function fromAnswer(httpStatus: number, body: string, what: string): KubeletError {
  const parsed = parseObject(body);
  return fromStatus(parsed?.kind === 'Status' ? parsed : {}, httpStatus, what);
}

function parseObject(text: string): StatusBody | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    // A proxy's page, say: the status code is all there is to know.
    return undefined;
  }
}

/** The HTTP status behind an error, when there was one. */
export function statusCodeOf(err: unknown): number | undefined {
  const code = err instanceof KubeletError ? err.details['code'] : undefined;
  return typeof code === 'number' ? code : undefined;
}
