// The headers of a call: what the client sends, and the status that ends it. Reference: "gRPC over HTTP2" of the gRPC project.
// Invariant: a status fits into the headers that clients accept, whatever its message contains.
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { rpcFailureCodes } from '../../api/cri/runtime.ts';
import { RpcFailure } from '../../api/kubelet/rpc-service.ts';

/** The HTTP status for a request that is not gRPC; undefined if it is. */
export function httpRefusal(headers: IncomingHttpHeaders): 405 | 415 | undefined {
  if (headers[':method'] !== 'POST') return 405;
  const type = headers['content-type'] ?? '';
  const isGrpc = type.startsWith('application/grpc') && /^(?:$|[+;])/.test(type.slice(grpcTypeLength));
  return isGrpc ? undefined : 415;
}

const grpcTypeLength = 'application/grpc'.length;

/** Infinity without a deadline. Throws an RpcFailure if the header is malformed. */
export function timeoutOf(headers: IncomingHttpHeaders): number {
  const text = headers['grpc-timeout'];
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(text).slice(0, 16)) ?? [];
  const unitMs = timeoutUnits[unit];
  if (unitMs === undefined) throw new RpcFailure('INTERNAL', 'malformed grpc-timeout');
  return Number(digits) * unitMs;
}

const timeoutUnits: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Throws an RpcFailure if the request is compressed. */
export function checkEncoding(headers: IncomingHttpHeaders): void {
  const encoding = headers['grpc-encoding'];
  if (encoding === undefined || encoding === 'identity') return;
  const shown = JSON.stringify(String(encoding).slice(0, 64));
  throw new RpcFailure('UNIMPLEMENTED', `grpc: Decompressor is not installed for grpc-encoding ${shown}`);
}

export const responseHead: OutgoingHttpHeaders = { ':status': 200, 'content-type': 'application/grpc' };

/** The trailers that end a call. */
export function statusHeaders(failure: RpcFailure | undefined): OutgoingHttpHeaders {
  if (failure === undefined) return { 'grpc-status': '0', 'grpc-message': '' };
  return {
    'grpc-status': String(rpcFailureCodes.indexOf(failure.code) + 1),
    'grpc-message': percentEncode(failure.message),
  };
}

/** Clients accept 8 KiB of headers or more; an encoded byte takes three. */
const messageBytes = 2048;

function percentEncode(text: string): string {
  const bytes = Buffer.from(text.slice(0, messageBytes)).subarray(0, messageBytes);
  let encoded = '';
  for (const byte of bytes)
    encoded +=
      byte >= 0x20 && byte <= 0x7e && byte !== percent
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return encoded;
}

const percent = 0x25;
