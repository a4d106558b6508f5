// Turns what gRPC says into the kubelet's own words. Upstream has no counterpart: there, features see gRPC codes.
// Invariant: the server's message is kept as it is, the reason is the code's name, and nothing of gRPC goes further.
import { type ServiceError, status } from '@grpc/grpc-js';
import { type ErrorKind, KubeletError } from '../../base/errors.ts';

const kinds: Readonly<Record<status, ErrorKind>> = {
  [status.OK]: 'internal',
  [status.CANCELLED]: 'internal',
  [status.UNKNOWN]: 'internal',
  [status.INVALID_ARGUMENT]: 'invalid',
  [status.DEADLINE_EXCEEDED]: 'timeout',
  [status.NOT_FOUND]: 'not-found',
  [status.ALREADY_EXISTS]: 'conflict',
  [status.PERMISSION_DENIED]: 'forbidden',
  [status.RESOURCE_EXHAUSTED]: 'internal',
  [status.FAILED_PRECONDITION]: 'invalid',
  [status.ABORTED]: 'internal',
  [status.OUT_OF_RANGE]: 'invalid',
  [status.UNIMPLEMENTED]: 'internal',
  [status.INTERNAL]: 'internal',
  [status.UNAVAILABLE]: 'unavailable',
  [status.DATA_LOSS]: 'internal',
  [status.UNAUTHENTICATED]: 'forbidden',
};

export function errorKindOf(code: status): ErrorKind {
  return kinds[code] ?? 'internal';
}

export function fromServiceError(
  err: ServiceError,
  method: string,
  details: Record<string, unknown> = {},
): KubeletError {
  const reason = status[err.code] ?? 'UNKNOWN';
  return new KubeletError(errorKindOf(err.code), reason, messageOf(err), { details: { method, ...details } });
}

/** The library wraps a failed connect in words of its own and a time; neither helps, and a time defeats deduplication. */
function messageOf(err: ServiceError): string {
  if (err.code !== status.UNAVAILABLE) return err.details;
  const connect = /^No connection established\. Last error: (?:Error: )?(.*?)\.? Resolution note: .*$/s.exec(
    err.details,
  )?.[1];
  if (connect === undefined) return err.details;
  return `runtime is not reachable: ${connect.replace(/ \(\d{4}-[^)]*\)$/, '')}`;
}
