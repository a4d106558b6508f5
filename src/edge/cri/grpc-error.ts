// How a call that did not succeed ended, in gRPC's words. Reference: the gRPC specification, "Status codes" and "HTTP2 mapping".
import { constants } from 'node:http2';
import { type RpcFailureCode, rpcFailureCodes } from '../../api/cri/runtime.ts';

export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly code: RpcFailureCode;
  /** Whether the server said so; otherwise it is our own deadline, limit or connection. */
  readonly fromServer: boolean;

  constructor(code: RpcFailureCode, message: string, fromServer = false) {
    super(message);
    this.code = code;
    this.fromServer = fromServer;
  }
}

/** What the trailers say; undefined for success. */
export function fromTrailers(status: string, message: string | undefined): GrpcError | undefined {
  if (status === '0') return undefined;
  const code = rpcFailureCodes[Number(status) - 1] ?? 'UNKNOWN';
  return new GrpcError(code, decodeMessage(message ?? ''), true);
}

/** An answer that is not one of gRPC's. */
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

/** A stream that the server reset without a status. */
export function fromReset(code: number): GrpcError {
  return new GrpcError(byReset[code] ?? 'INTERNAL', `Received RST_STREAM with code ${code}`, true);
}

const byReset: Readonly<Record<number, RpcFailureCode>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: 'UNAVAILABLE',
  [constants.NGHTTP2_CANCEL]: 'CANCELLED',
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: 'RESOURCE_EXHAUSTED',
  [constants.NGHTTP2_INADEQUATE_SECURITY]: 'PERMISSION_DENIED',
};

/** Bytes outside of ASCII are written as %XX; what was written wrongly is kept as it is. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
