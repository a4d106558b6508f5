// Messages for connection errors, as the Go kubelet's events have them. Pure.
import { describeError } from '../../base/errors.ts';

/** `10.0.0.1:80`, `[::1]:80`: Go's net.JoinHostPort. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const connectTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  EACCES: 'connect: permission denied',
  EPERM: 'connect: operation not permitted',
  ETIMEDOUT: 'connect: connection timed out',
  EINVAL: 'connect: invalid argument',
};

/** The message for a failed connection to `host`. */
export function dialText(err: unknown, host: string, port: number): string {
  // Several addresses of one name were tried: the first error is reported.
  const first: unknown = err instanceof AggregateError ? (err.errors[0] ?? err) : err;
  const code = codeOf(first);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const why = code === 'ENOTFOUND' ? 'no such host' : 'server misbehaving';
    return `dial tcp: lookup ${host}: ${why}`;
  }
  const known = code === undefined ? undefined : connectTexts[code];
  return `dial tcp ${joinHostPort(host, port)}: ${known ?? describeError(first)}`;
}

export function codeOf(err: unknown): string | undefined {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;
}

/** The message for an HTTP request that failed before its response. */
export function requestText(
  err: unknown,
  { host, port }: { readonly host: string; readonly port: number },
): string {
  const code = codeOf(err);
  if (code === 'ECONNRESET' && err instanceof Error && err.message === 'socket hang up') return 'EOF';
  if (code === 'ECONNRESET') return 'read: connection reset by peer';
  if (code === 'EPIPE') return 'write: broken pipe';
  if (isPlainAnswer(err)) return plainAnswerText;
  if (code === 'EPROTO' || code?.startsWith('ERR_SSL') === true) {
    return `remote error: tls: ${describeError(err)}`;
  }
  if (code?.startsWith('HPE_') === true) {
    return `net/http: HTTP/1.x transport connection broken: malformed HTTP response: ${describeError(err)}`;
  }
  if (code?.startsWith('ERR_') === true) return `net/http: ${describeError(err)}`;
  return dialText(err, host, port);
}

const plainAnswerText = 'http: server gave HTTP response to HTTPS client';

/** Whether the server answered a TLS handshake in plain text. OpenSSL reports that only in the message of its error. */
export function isPlainAnswer(err: unknown): boolean {
  return err instanceof Error && /wrong version number|packet length too long/i.test(err.message);
}
