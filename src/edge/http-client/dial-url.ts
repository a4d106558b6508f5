// Opens a raw connection to the server of an http or https URL. Upstream: apimachinery/pkg/util/proxy (DialURL).
// Invariants: the caller gets the socket before it is connected, so that it can close it at any time; an error of the socket
// without listeners is harmless.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { KubeletError } from '../../base/errors.ts';
import { codeOf, dialText } from '../probe/go-error.ts';
import { systemRoots } from './http-get.ts';

export interface DialTls {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly rejectUnauthorized?: boolean;
}

const dialMs = 30_000;

/** `tls`: options for TLS; by default the machine's trusted roots and no client certificate. */
export async function dialUrl(
  url: URL,
  tls: DialTls | undefined,
  opened: (socket: Socket) => void,
): Promise<Socket> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw dialError(`unknown scheme: ${url.protocol.replace(/:$/, '')}`);
  }
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const plain = { host, port, allowHalfOpen: true, noDelay: true, keepAlive: true };
  const roots = secure && tls === undefined ? await systemRoots() : undefined;
  const socket = secure
    ? connectTls({
        ...plain,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...(roots === undefined ? {} : { ca: roots }),
        ...tls,
        ALPNProtocols: ['http/1.1'],
      })
    : connectTcp(plain);
  // Permanent: an error may occur at any time, also without other listeners.
  socket.on('error', () => socket.destroy());
  opened(socket);
  await connected(socket, secure ? 'secureConnect' : 'connect', (err) =>
    dialError(isErrno(err) ? dialText(err, host, port) : tlsText(err), err),
  );
  return socket;
}

function connected(socket: Socket, event: string, explain: (err: unknown) => Error): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(Object.assign(new Error('i/o timeout'), { code: 'EDIAL' })), dialMs);
    const fail = (err: unknown): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(explain(err));
    };
    socket.once('error', fail);
    socket.once('close', () => fail(new Error('closed')));
    socket.once(event, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** True for ECONNREFUSED and the like, false for ERR_TLS_CERT_ALTNAME_INVALID. */
function isErrno(err: unknown): boolean {
  return /^E[A-Z0-9]+$/.test(codeOf(err) ?? 'E0');
}

function tlsText(err: unknown): string {
  return `tls: failed to verify certificate: ${err instanceof Error ? err.message : String(err)}`;
}

function dialError(text: string, cause?: unknown): KubeletError {
  return new KubeletError('unavailable', 'DialFailed', `error dialing backend: ${text}`, { cause });
}
