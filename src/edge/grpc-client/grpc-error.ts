// The error of a failed gRPC call. Reference: the gRPC specification, "Status codes" and "HTTP2 mapping".
import { constants } from 'node:http2';
import { type RpcFailureCode, rpcFailureCodes } from '../../api/cri/runtime.ts';
import { RpcFailure } from '../../api/kubelet/rpc-service.ts';

export class GrpcError extends RpcFailure {
  override readonly name = 'GrpcError';
  /** Whether the server sent it; otherwise it is the client's own deadline, limit or connection. */
  readonly fromServer: boolean;

  constructor(code: RpcFailureCode, message: string, fromServer = false) {
    super(code, message);
    this.fromServer = fromServer;
  }
}

/** The error in the trailers; undefined for success. */
export function fromTrailers(status: string, message: string | undefined): GrpcError | undefined {
  if (status === '0') return undefined;
  const code = rpcFailureCodes[Number(status) - 1] ?? 'UNKNOWN';
  return new GrpcError(code, decodeMessage(message ?? ''), true);
}

/** The error for a response that is not gRPC. */
export function fromHttpStatus(status: number): GrpcError {
  return new GrpcError(byHttpStatus[status] ?? 'UNKNOWN', `Received HTTP status code ${status}`, true);
}

const byHttpStatus: Readonly<Record<number, RpcFailureCode>> = {
  400: 'INTERNAL',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'UNIMPLEMENTED',
  429: 'UNAVAILABLE',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/** The error for a stream that the server reset without a status. */
export function fromReset(code: number): GrpcError {
  return new GrpcError(byReset[code] ?? 'INTERNAL', `Received RST_STREAM with code ${code}`, true);
}

const byReset: Readonly<Record<number, RpcFailureCode>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: 'UNAVAILABLE',
  [constants.NGHTTP2_CANCEL]: 'CANCELLED',
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: 'RESOURCE_EXHAUSTED',
  [constants.NGHTTP2_INADEQUATE_SECURITY]: 'PERMISSION_DENIED',
};

/** Bytes outside of ASCII are percent-encoded; an invalid encoding is kept as it is. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
