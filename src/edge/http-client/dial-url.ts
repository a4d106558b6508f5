// A connection to the server of an http or https URL, for who speaks on it himself. Upstream: apimachinery/pkg/util/proxy
// (DialURL). Invariants: whoever asked knows the socket from its first moment on, so that it can be closed at any time; a
// socket that breaks while nobody listens harms nobody.
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

/** `tls`: how to talk TLS; by default as any client, with what the machine trusts. */
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
  // For good: it may break at any time, also while nobody else listens.
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

/** ECONNREFUSED and its like, and not ERR_TLS_CERT_ALTNAME_INVALID. */
function isErrno(err: unknown): boolean {
  return /^E[A-Z0-9]+$/.test(codeOf(err) ?? 'E0');
}

function tlsText(err: unknown): string {
  return `tls: failed to verify certificate: ${err instanceof Error ? err.message : String(err)}`;
}

function dialError(text: string, cause?: unknown): KubeletError {
  return new KubeletError('unavailable', 'DialFailed', `error dialing backend: ${text}`, { cause });
}
