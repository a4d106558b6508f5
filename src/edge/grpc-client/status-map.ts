// Maps gRPC errors to KubeletErrors. Upstream has no counterpart: there, features see gRPC codes.
// Invariant: the server's message is kept as it is and the reason is the name of the code; no gRPC type leaves edge/.
import type { RpcFailureCode } from '../../api/cri/runtime.ts';
import { type ErrorKind, KubeletError } from '../../base/errors.ts';
import type { GrpcError } from './grpc-error.ts';

const kinds: Readonly<Record<RpcFailureCode, ErrorKind>> = {
  CANCELLED: 'internal',
  UNKNOWN: 'internal',
  INVALID_ARGUMENT: 'invalid',
  DEADLINE_EXCEEDED: 'timeout',
  NOT_FOUND: 'not-found',
  ALREADY_EXISTS: 'conflict',
  PERMISSION_DENIED: 'forbidden',
  RESOURCE_EXHAUSTED: 'internal',
  FAILED_PRECONDITION: 'invalid',
  ABORTED: 'internal',
  OUT_OF_RANGE: 'invalid',
  UNIMPLEMENTED: 'internal',
  INTERNAL: 'internal',
  UNAVAILABLE: 'unavailable',
  DATA_LOSS: 'internal',
  UNAUTHENTICATED: 'forbidden',
};

export function errorKindOf(code: RpcFailureCode): ErrorKind {
  return kinds[code];
}

/** `server` names the other end in the message of a lost connection: `runtime`. */
export function fromGrpcError(
  err: GrpcError,
  server: string,
  method: string,
  details: Record<string, unknown> = {},
): KubeletError {
  return new KubeletError(errorKindOf(err.code), err.code, messageOf(err, server), {
    details: { method, ...details },
  });
}

function messageOf({ code, fromServer, message }: GrpcError, server: string): string {
  return code === 'UNAVAILABLE' && !fromServer ? `${server} is not reachable: ${message}` : message;
}
