// Describes the failures of requests to a kubelet in one line with the fix. Upstream: none.
import { type ErrorKind, KubeletError } from '../../base/errors.ts';

export interface NodeAddress {
  /** As in a message: the path of the socket, or the URL. */
  readonly shown: string;
  readonly isSocket: boolean;
}

const certificateErrors: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
]);

/** The connection failed or broke. A KubeletError stays what it is. */
export function connectionError(err: unknown, { isSocket, shown }: NodeAddress): KubeletError {
  if (err instanceof KubeletError) return err;
  const code = err instanceof Error && 'code' in err ? String(err.code) : '';
  const message = err instanceof Error ? err.message : String(err);
  // Without the cause, which the text has as far as it helps.
  const make = (kind: ErrorKind, reason: string, text: string): KubeletError =>
    new KubeletError(kind, reason, text);
  if (isSocket && (code === 'ENOENT' || code === 'ENOTDIR'))
    return make(
      'unavailable',
      'NoSocket',
      `there is no socket ${shown}: is the kubelet running, and is this its --root-dir? --server connects to a port instead`,
    );
  if (isSocket && code === 'ECONNREFUSED')
    return make('unavailable', 'NotRunning', `no kubelet listens on ${shown}: is it running?`);
  if (isSocket && (code === 'EACCES' || code === 'EPERM'))
    return make('forbidden', 'NoPermission', `no permission to use ${shown}: run the command as root`);
  if (code === 'ECONNREFUSED')
    return make(
      'unavailable',
      'NotRunning',
      `nothing listens on ${shown}: is the kubelet running, and is this its port?`,
    );
  if (certificateErrors.has(code))
    return make(
      'invalid',
      'UntrustedServer',
      `the certificate of ${shown} is not trusted (${message}): set --certificate-authority, or --insecure-skip-tls-verify`,
    );
  if (code.startsWith('ERR_SSL') || code === 'EPROTO')
    return make(
      'invalid',
      'TlsFailed',
      `TLS with ${shown} failed (${code}): is it an https port, and is the client certificate valid?`,
    );
  if (code === 'ECONNRESET' && shown.startsWith('http:'))
    return make('unavailable', 'Disconnected', `${shown} closed the connection: is it an https port?`);
  return make('unavailable', 'RequestFailed', `the request to ${shown} failed: ${message}`);
}

/** The kubelet rejected the request. `text`: the beginning of its answer. */
export function statusError(
  status: number,
  path: string,
  text: string,
  { shown }: NodeAddress,
): KubeletError {
  const [plain = ''] = path.split('?');
  const details = { status };
  if (status === 401)
    return new KubeletError(
      'forbidden',
      'Unauthorized',
      `${shown} does not know this client (401): set --client-certificate and --client-key, or --token-file`,
      { details },
    );
  if (status === 403)
    return new KubeletError(
      'forbidden',
      'Forbidden',
      `${shown} denies GET ${plain} (403): ${messageOf(text)}`,
      { details },
    );
  const isMissing = status === 404 || status === 405;
  return new KubeletError(
    isMissing ? 'not-found' : status === 503 || status === 429 ? 'unavailable' : 'invalid',
    isMissing ? 'NotServed' : 'RequestRejected',
    isMissing && isUnknownPath(text)
      ? `${shown} does not serve ${plain} (${status}): use the socket of the node, or the secure port (10250)`
      : `${messageOf(text)} (${status})`,
    { details },
  );
}

function isUnknownPath(text: string): boolean {
  return /^404 page not found|^404: Page Not Found|Debug endpoints are disabled|Method Not Allowed|^$/i.test(
    text.trim().slice(0, 200),
  );
}

/** The message of a JSON body, or the text itself. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // Not JSON.
  }
  return text.trim() || 'the request was rejected';
}
