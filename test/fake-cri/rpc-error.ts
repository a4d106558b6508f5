// Errors of the fake runtime: a gRPC status and containerd's message, in the form that the CRI client gives them.

import type { RpcFailureCode } from '../../src/api/cri/runtime.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { errorKindOf } from '../../src/edge/grpc-client/status-map.ts';

type StatusName = RpcFailureCode;

export function rpcError(
  code: StatusName,
  message: string,
  details: Record<string, unknown> = {},
): KubeletError {
  return new KubeletError(errorKindOf(code), code, message, { details });
}

export const notFound = (message: string): KubeletError => rpcError('NOT_FOUND', message);

/** Most of containerd's errors have no code of their own. */
export const unknownError = (message: string): KubeletError => rpcError('UNKNOWN', message);

export const unavailable = (): KubeletError =>
  rpcError('UNAVAILABLE', 'runtime is not reachable: connect ECONNREFUSED /run/fake-cri.sock');
