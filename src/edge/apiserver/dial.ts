// Opens one connection to the API server, directly or through a proxy, with TLS if the URL is https.
// Invariant: a connection that fails, times out or is abandoned leaves no socket behind.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import { KubeletError } from '../../base/errors.ts';
import type { TlsMaterial } from './credentials.ts';

interface Dialled {
  readonly socket: Socket | TLSSocket;
  /** Negotiated by ALPN. */
  readonly protocol: 'h2' | 'http/1.1';
}

const connectMs = 30_000;
const keepAliveMs = 30_000;

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

/** Without the brackets of an IPv6 address. */
function hostnameOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

export async function dial(
  access: ClusterAccess,
  tls: TlsMaterial,
  proxy: URL | undefined,
): Promise<Dialled> {
  const { server } = access;
  const plain = proxy === undefined ? await tcp(server) : await throughProxy(server, proxy);
  plain.setKeepAlive(true, keepAliveMs);
  plain.setNoDelay(true);
  if (server.protocol === 'http:') return { socket: plain, protocol: 'http/1.1' };
  const socket = await secure(plain, access, tls);
  return { socket, protocol: socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' };
}

async function tcp(url: URL): Promise<Socket> {
  const socket = connectTcp({ host: hostnameOf(url), port: portOf(url), autoSelectFamily: true });
  return await opened(socket, 'connect', url);
}

async function secure(plain: Socket, access: ClusterAccess, tls: TlsMaterial): Promise<TLSSocket> {
  const host = hostnameOf(access.server);
  const options: ConnectionOptions = {
    socket: plain,
    host,
    ALPNProtocols: ['h2', 'http/1.1'],
    rejectUnauthorized: !access.insecureSkipTlsVerify,
    ...(access.tlsServerName === undefined ? {} : { servername: access.tlsServerName }),
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined || tls.key === undefined ? {} : { cert: tls.cert, key: tls.key.reveal() }),
  };
  // SNI carries a host name, never an address.
  if (options.servername === undefined && !/^[\d.]+$|:/.test(host)) options.servername = host;
  try {
    return await opened(connectTls(options), 'secureConnect', access.server);
  } catch (err) {
    plain.destroy();
    throw err;
  }
}

/** CONNECT after RFC 9110. */
async function throughProxy(server: URL, proxy: URL): Promise<Socket> {
  const target = `${server.hostname}:${portOf(server)}`;
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const headers = {
    host: target,
    ...(credentials === ':'
      ? {}
      : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
  };
  const options = {
    host: hostnameOf(proxy),
    port: portOf(proxy),
    method: 'CONNECT',
    path: target,
    headers,
    agent: false,
    timeout: connectMs,
  } as const;
  return await new Promise((resolve, reject) => {
    const request = proxy.protocol === 'https:' ? httpsRequest(options) : httpRequest(options);
    request.once('timeout', () => request.destroy(new Error(`no response within ${connectMs} ms`)));
    request.on('error', (cause) => reject(unreachable(proxy, cause, 'proxy')));
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) {
        socket.setTimeout(0);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(unreachable(proxy, new Error(`CONNECT was answered with ${response.statusCode}`), 'proxy'));
    });
    request.end();
  });
}

function opened<S extends Socket>(socket: S, event: string, url: URL): Promise<S> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => {
      socket.destroy();
      reject(unreachable(url, cause, 'API server'));
    };
    socket.setTimeout(connectMs, () => fail(new Error(`no connection within ${connectMs} ms`)));
    socket.once('error', fail);
    const closed = (): void => fail(new Error('the connection was closed'));
    socket.once('close', closed);
    socket.once(event, () => {
      socket.setTimeout(0);
      socket.removeListener('error', fail);
      socket.removeListener('close', closed);
      resolve(socket);
    });
  });
}

function unreachable(url: URL, cause: unknown, what: 'API server' | 'proxy'): KubeletError {
  return new KubeletError('unavailable', 'ConnectionFailed', `the ${what} at ${url.host} is not reachable`, {
    cause,
  });
}
