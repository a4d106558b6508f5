// Turns what gRPC says into the kubelet's own words. Upstream has no counterpart: there, features see gRPC codes.
// Invariant: the server's message is kept as it is, the reason is the code's name, and nothing of gRPC goes further.
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

export function fromGrpcError(
  err: GrpcError,
  method: string,
  details: Record<string, unknown> = {},
): KubeletError {
  return new KubeletError(errorKindOf(err.code), err.code, messageOf(err), {
    details: { method, ...details },
  });
}

function messageOf({ code, fromServer, message }: GrpcError): string {
  return code === 'UNAVAILABLE' && !fromServer ? `runtime is not reachable: ${message}` : message;
}
