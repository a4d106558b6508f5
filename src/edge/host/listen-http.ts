// Listens for HTTP/1.1 and hands each request to a handler as plain data. Upstream: the http.Server in pkg/kubelet/server.
// Owns the listening socket and every connection on it. Invariants: no client can hold a connection open without sending
// or reading; a handler that throws becomes a 500 and is reported once; after close() nothing is left open.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ErrorKind, KubeletError } from '../../base/errors.ts';

export interface IncomingRequest {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface OutgoingResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export interface HttpLimits {
  /** A request line with its headers. */
  readonly headerBytes: number;
  /** A request's body; it is read and thrown away. */
  readonly bodyBytes: number;
  /** From the first byte of a request to the last of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** Between two requests on one connection. */
  readonly idleMs: number;
  /** Without a byte read or written in the middle of something. */
  readonly stalledMs: number;
  readonly connections: number;
  /** How long answers under way may take when the server closes. */
  readonly closeMs: number;
}

/** Generous for scrapers and people, tight for who only holds on. */
export const defaultHttpLimits: HttpLimits = {
  headerBytes: 64 * 1024,
  bodyBytes: 1024 * 1024,
  headersTimeoutMs: 30_000,
  requestTimeoutMs: 60_000,
  idleMs: 90_000,
  stalledMs: 120_000,
  connections: 1024,
  closeMs: 2_000,
};

export interface ListenHttpOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** The flag that sets the port, for the message when it cannot be had. */
  readonly flag: string;
  readonly handler: (request: IncomingRequest) => OutgoingResponse | Promise<OutgoingResponse>;
  readonly limits?: Partial<HttpLimits>;
  /** Gets what a handler threw, and without a request what befell the listening socket, which goes on. */
  readonly onError?: (err: unknown, request?: IncomingRequest) => void;
}

export interface HttpListener {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

const internalError: OutgoingResponse = {
  status: 500,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: 'internal server error\n',
};

export async function listenHttp(options: ListenHttpOptions): Promise<HttpListener> {
  const limits: HttpLimits = { ...defaultHttpLimits, ...options.limits };
  const connections = new Connections();
  const server = createServer(serverOptions(limits), (request, response) => {
    connections.begin(request.socket, response);
    // answer() never rejects.
    void answer(options, limits, connections, request, response);
  });
  server.timeout = limits.stalledMs;
  server.maxConnections = limits.connections;
  server.on('connection', (socket) => connections.add(socket));
  server.on('clientError', refuseMalformed);
  await bind(server, options);
  // Too many open files, for example: one client is lost, not the kubelet.
  server.on('error', (err) => options.onError?.(err));
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port, close: () => close(server, connections, limits.closeMs) };
}

function serverOptions(limits: HttpLimits) {
  return {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.idleMs,
    // How often Node looks for requests that take too long.
    connectionsCheckingInterval: Math.min(5_000, Math.max(10, limits.headersTimeoutMs / 2)),
    noDelay: true,
  };
}

function bind(server: Server, options: ListenHttpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (err: NodeJS.ErrnoException): void => reject(listenError(err, options));
    server.once('error', onError);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

const listenErrors: Readonly<Record<string, readonly [ErrorKind, string, string]>> = {
  EADDRINUSE: ['conflict', 'AddressInUse', 'the address is in use'],
  EADDRNOTAVAIL: ['invalid', 'AddressNotAvailable', 'this machine does not have the address'],
  EACCES: ['forbidden', 'PermissionDenied', 'permission denied'],
};

function listenError(err: NodeJS.ErrnoException, { host, port, flag }: ListenHttpOptions): KubeletError {
  const [kind, reason, words] = listenErrors[err.code ?? ''] ?? ['internal', 'ListenFailed', err.message];
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new KubeletError(kind, reason, `cannot listen on ${at} (${flag}): ${words}`, {
    cause: err,
    details: { address: at, flag },
  });
}

async function answer(
  options: ListenHttpOptions,
  limits: HttpLimits,
  connections: Connections,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!discardBody(message, response, limits.bodyBytes)) return;
  const request = parseRequest(message);
  if (request === undefined) {
    send(response, { ...internalError, status: 400, body: '400 Bad Request\n' }, connections.closing);
    return;
  }
  let result: OutgoingResponse;
  try {
    result = await options.handler(request);
  } catch (err) {
    options.onError?.(err, request);
    result = internalError;
  }
  send(response, result, connections.closing);
}

/** Nobody here takes a body: it is read past, and one that is too long ends the connection. */
function discardBody(message: IncomingMessage, response: ServerResponse, most: number): boolean {
  if (Number(message.headers['content-length'] ?? 0) > most) {
    send(response, { ...internalError, status: 413, body: 'request body too large\n' }, true);
    return false;
  }
  let seen = 0;
  message.on('data', (chunk: Buffer) => {
    seen += chunk.length;
    if (seen > most) message.destroy();
  });
  return true;
}

function parseRequest(message: IncomingMessage): IncomingRequest | undefined {
  const target = message.url ?? '/';
  const at = target.indexOf('?');
  try {
    // A proxy's client may give the whole URL.
    const rawPath = at < 0 ? target : target.slice(0, at);
    const path = rawPath.startsWith('/') ? rawPath : new URL(rawPath).pathname;
    return {
      method: message.method ?? 'GET',
      path: decodeURIComponent(path),
      query: new URLSearchParams(at < 0 ? '' : target.slice(at + 1)),
      headers: message.headers,
    };
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, result: OutgoingResponse, last: boolean): void {
  if (response.destroyed || response.headersSent) return;
  const body = typeof result.body === 'string' ? Buffer.from(result.body) : result.body;
  response.writeHead(result.status, {
    ...result.headers,
    'content-length': body.byteLength,
    ...(last ? { connection: 'close' } : {}),
  });
  response.end(body);
}

const clientErrors: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** What is no request gets one line and no second chance. */
function refuseMalformed(err: NodeJS.ErrnoException, socket: Duplex): void {
  if (err.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const words = clientErrors[err.code ?? ''] ?? '400 Bad Request';
  const head = `HTTP/1.1 ${words}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n${words}`;
  socket.end(head, () => socket.destroy());
}

/** Which connections there are, and which of them are in the middle of an answer. */
class Connections {
  readonly #answering = new Map<Socket, number>();
  closing = false;

  add(socket: Socket): void {
    this.#answering.set(socket, 0);
    socket.once('close', () => this.#answering.delete(socket));
  }

  begin(socket: Socket, response: ServerResponse): void {
    this.#change(socket, 1);
    response.once('close', () => {
      this.#change(socket, -1);
      if (this.closing) this.endIdle();
    });
  }

  endIdle(): void {
    for (const [socket, answers] of this.#answering) if (answers === 0) socket.destroySoon();
  }

  endAll(): void {
    for (const socket of this.#answering.keys()) socket.destroy();
  }

  #change(socket: Socket, by: number): void {
    const now = this.#answering.get(socket);
    if (now !== undefined) this.#answering.set(socket, now + by);
  }
}

async function close(server: Server, connections: Connections, closeMs: number): Promise<void> {
  connections.closing = true;
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  connections.endIdle();
  const timer = setTimeout(() => connections.endAll(), closeMs);
  await closed;
  clearTimeout(timer);
}
