// How a failed call of a CSI driver becomes an error: Go's text, the name of its code, and what is known of the volume.
// Invariants: the text is one line of bounded length without secrets of the request; only a status that the driver itself sent
// is final. Upstream: isFinalError in pkg/volume/csi/csi_client.go, stripSecrets in csi-lib-utils/protosanitizer.
import { goCodeName, type RpcFailureCode } from '../../api/cri/runtime.ts';
import type { CsiFailureDetails, CsiOutcome } from '../../api/ports/csi.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorKindOf } from '../grpc-client/status-map.ts';
import { maskSecrets } from './mask-secrets.ts';

/** How a call ended without success. */
export interface CsiFault {
  readonly code: RpcFailureCode;
  /** Possibly the driver's own words: of any length, and with secrets. */
  readonly text: string;
  /** The driver sent this status; otherwise it is this client's deadline, limit or connection. */
  readonly isVerdict: boolean;
  /** The driver has certainly not begun with it, so that it may be sent again. */
  readonly isUnprocessed?: boolean;
}

/** In code units. An event has 1,024 bytes. */
const longestText = 2_048;

const uncertainCodes: ReadonlySet<RpcFailureCode> = new Set([
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'UNAVAILABLE',
  'RESOURCE_EXHAUSTED',
  'ABORTED',
]);

/**
 * differs from upstream: there, a response that cannot be parsed and a stream that was reset are Internal and hence final, as
 * if the driver had reported that it did nothing.
 */
function computeOutcome({ code, isVerdict }: Pick<CsiFault, 'code' | 'isVerdict'>): CsiOutcome {
  return !isVerdict || uncertainCodes.has(code) ? 'uncertain' : 'final';
}

export function csiError(fault: CsiFault, method: string, secrets: readonly string[]): KubeletError {
  const { code } = fault;
  // Masked before it is truncated: the rest of a secret that was cut off would not be recognized.
  const text = oneLine(maskSecrets(fault.text, secrets));
  const details: CsiFailureDetails & { readonly method: string } = {
    csiOutcome: computeOutcome(fault),
    method,
  };
  const message = `rpc error: code = ${goCodeName(code) ?? code} desc = ${text}`;
  return new KubeletError(errorKindOf(code), code, message, { details: { ...details } });
}

/** Line breaks and other control characters become blanks. */
function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  return line.length <= longestText ? line : `${line.slice(0, longestText - 1)}…`;
}

/** The end of every call of a client that was closed. */
export const closingFault: CsiFault = {
  code: 'CANCELLED',
  text: 'grpc: the client connection is closing',
  isVerdict: false,
};

export const deadlineFault: CsiFault = {
  code: 'DEADLINE_EXCEEDED',
  text: 'context deadline exceeded',
  isVerdict: false,
};

export const dialDeadlineFault: CsiFault = {
  ...deadlineFault,
  text: 'context deadline exceeded while waiting for connections to become ready',
};

export function dialFault(path: string, why: string): CsiFault {
  const text = `transport: Error while dialing: dial unix ${path}: connect: ${why}`;
  return { code: 'UNAVAILABLE', text: connectionError(text), isVerdict: false };
}

/** As Go prints the error of a connection that never worked. */
export function connectionError(text: string): string {
  return `connection error: desc = ${JSON.stringify(text)}`;
}

const errnoTexts: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EAGAIN: 'resource temporarily unavailable',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EINVAL: 'invalid argument',
  ELOOP: 'too many levels of symbolic links',
  ENAMETOOLONG: 'file name too long',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EPERM: 'operation not permitted',
  EPIPE: 'broken pipe',
};

/** Go's text of a system error. */
export function errnoText(err: Error): string {
  const code = 'code' in err && typeof err.code === 'string' ? err.code : '';
  return errnoTexts[code] ?? err.message;
}
