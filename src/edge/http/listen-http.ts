// Listens for HTTP/1.1 and passes each request to a handler as plain data. Upstream: the http.Server in pkg/kubelet/server.
// Owns the listening socket and every connection on it. Invariants: no client can hold a connection open without sending
// or reading; after close() nothing stays open.
import { createServer, type Server } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HttpHandler, HttpRequest } from '../../api/ports/http.ts';
import { type ErrorKind, KubeletError } from '../../base/errors.ts';
import { HttpConnections } from './http-connections.ts';
import { answerRequest, answerUpgrade, type ExchangeOptions, type ProxyUpgrade } from './http-exchange.ts';
import { defaultHttpLimits, type HttpLimits } from './http-limits.ts';
import { PacedTurns } from './paced-turns.ts';
import { PeerLimits } from './peer-limits.ts';

export interface ListenHttpOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The flag that sets the port, for error messages. */
  readonly flag: string;
  readonly handler: HttpHandler;
  readonly limits?: Partial<HttpLimits>;
  /** Called with errors of handlers, and without a request with errors of the listening socket, which keeps listening. */
  readonly onError?: (err: unknown, request?: HttpRequest) => void;
  /** Passes upgraded connections on, if the port allows upgrades. */
  readonly proxyUpgrade?: ProxyUpgrade;
}

export interface HttpListener {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

export async function listenHttp(options: ListenHttpOptions): Promise<HttpListener> {
  const limits: HttpLimits = { ...defaultHttpLimits, ...options.limits };
  const connections = new HttpConnections();
  const peers = new PeerLimits(limits);
  const turns = new PacedTurns(limits.unknownShare);
  const server = createServer(serverOptions(limits));
  serveRequests(server, { ...options, limits, connections, peers, turns });
  server.timeout = limits.stalledMs;
  server.maxConnections = limits.connections;
  server.on('connection', (socket) => connections.add(socket));
  limitPeers(server, peers, false);
  await bind(server, options);
  return listening(server, connections, peers, limits, options.onError);
}

/** Applies the limits before the server handles a connection. All 'connection' listeners must be registered by then. */
export function limitPeers(server: Server | Http2SecureServer, peers: PeerLimits, handshake: boolean): void {
  const plain = server as Server;
  const begin = plain.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  plain.removeAllListeners('connection');
  plain.on('connection', (socket) =>
    peers.enter(socket, handshake, () => {
      for (const each of begin) each.call(plain, socket);
    }),
  );
}

export function serveRequests(server: Server | Http2SecureServer, options: ExchangeOptions): void {
  const plain = server as Server;
  plain.on('request', (request, response) => answerRequest(options, request, response));
  plain.on('upgrade', (request, socket: Duplex, head) => {
    answerUpgrade(options, request, socket as Socket, head).catch((err: unknown) => {
      options.onError?.(err);
      socket.destroy();
    });
  });
  plain.on('clientError', rejectMalformed());
}

export function listening(
  server: Server | Http2SecureServer,
  connections: HttpConnections,
  peers: PeerLimits,
  limits: HttpLimits,
  onError: ListenHttpOptions['onError'],
): HttpListener {
  // For example too many open files: one client is lost, not the kubelet.
  (server as Server).on('error', (err) => onError?.(err));
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port, close: () => close(server, connections, peers, limits.closeMs) };
}

export function serverOptions(limits: HttpLimits) {
  return {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.idleMs,
    // How often Node checks for requests that time out.
    connectionsCheckingInterval: Math.min(5_000, Math.max(10, limits.headersTimeoutMs / 2)),
    noDelay: true,
    // Detects clients that vanished, also during a silent stream.
    keepAlive: true,
    keepAliveInitialDelay: 15_000,
  };
}

export function bind(
  server: Server | Http2SecureServer,
  options: Pick<ListenHttpOptions, 'host' | 'port' | 'flag'>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (err: NodeJS.ErrnoException): void => reject(listenError(err, options));
    const { host, port } = options;
    (server as Server).once('error', onError);
    server.listen({ host, port }, () => {
      (server as Server).off('error', onError);
      resolve();
    });
  });
}

const listenErrors: Readonly<Record<string, readonly [ErrorKind, string, string]>> = {
  EADDRINUSE: ['conflict', 'AddressInUse', 'the address is in use'],
  EADDRNOTAVAIL: ['invalid', 'AddressNotAvailable', 'this machine does not have the address'],
  EACCES: ['forbidden', 'PermissionDenied', 'permission denied'],
};

function listenError(
  err: NodeJS.ErrnoException,
  { host, port, flag }: Pick<ListenHttpOptions, 'host' | 'port' | 'flag'>,
): KubeletError {
  const [kind, reason, text] = listenErrors[err.code ?? ''] ?? ['internal', 'ListenFailed', err.message];
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new KubeletError(kind, reason, `cannot listen on ${at} (${flag}): ${text}`, {
    cause: err,
    details: { address: at, flag },
  });
}

const clientErrors: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** How long a client may read its rejection: closing at once could discard it if the client is still sending. */
const rejectionMs = 500;

/** Answers a malformed request with one line and closes the connection. */
function rejectMalformed(): (err: NodeJS.ErrnoException, socket: Duplex) => void {
  const rejected = new WeakSet<Duplex>();
  return (err, socket) => {
    if (rejected.has(socket)) return;
    rejected.add(socket);
    // A client that fails the TLS handshake cannot receive a response.
    const isUnreachable = /^(ECONNRESET|EPROTO|ERR_TLS|ERR_SSL)/.test(err.code ?? '');
    if (isUnreachable || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = clientErrors[err.code ?? ''] ?? '400 Bad Request';
    const head = `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n${status}`;
    socket.end(head);
    const timer = setTimeout(() => socket.destroy(), rejectionMs);
    socket.once('close', () => clearTimeout(timer));
  };
}

async function close(
  server: Server | Http2SecureServer,
  connections: HttpConnections,
  peers: PeerLimits,
  closeMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  peers.close();
  connections.close();
  const timer = setTimeout(() => connections.endAll(), closeMs);
  await closed;
  clearTimeout(timer);
}
