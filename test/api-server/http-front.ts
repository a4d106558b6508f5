// The double on a loopback port: HTTPS with HTTP/2, HTTP/1.1 and client certificates, as a real server, or plain HTTP.
// Logs, exec and the like are proxied to the kubelet (kubelet-proxy.ts).
// Invariants: while the double is down, connections are refused or cut; close() leaves no socket behind.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { ApiError } from './api-error.ts';
import { type ApiServerDouble, errorResponse } from './double.ts';
import type { KubeletProxy } from './kubelet-proxy.ts';
import type { TestAuthority } from './pki.ts';
import type { RawRequest, RawResponse, User } from './request.ts';

export interface HttpFrontOptions {
  /** Plain HTTP if undefined. */
  readonly authority?: TestAuthority | undefined;
  /** Whether HTTP/2 is offered. Default: true. */
  readonly http2?: boolean;
  readonly port?: number;
  /** The most concurrent streams of a connection. */
  readonly maxStreams?: number;
  readonly proxy?: KubeletProxy;
  /** Further names and addresses of the certificate. */
  readonly hosts?: readonly string[];
}

export interface HttpFront {
  readonly url: string;
  readonly port: number;
  /** The open connections, and all since the start. */
  readonly connections: { readonly open: number; readonly total: number };
  close(): Promise<void>;
}

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

export async function serveDouble(
  double: ApiServerDouble,
  options: HttpFrontOptions = {},
): Promise<HttpFront> {
  const { authority, http2 = true, proxy } = options;
  const sockets = new Set<Socket>();
  let total = 0;
  const onRequest = (request: AnyRequest, response: AnyResponse): void => {
    void answer(double, request, response, proxy);
  };
  const server =
    authority === undefined ? createServer(onRequest) : secureServer(authority, http2, options, onRequest);
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (proxy === undefined) socket.destroy();
    else proxy.upgrade(double, request, socket, head, userOf(request));
  });
  server.on('connection', (socket: Socket) => {
    if (double.faults.isDown) {
      socket.destroy();
      return;
    }
    total++;
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const stopListening = double.faults.onDown(cut);
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${authority === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    get connections() {
      return { open: sockets.size, total };
    },
    close: async () => {
      stopListening();
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function secureServer(
  authority: TestAuthority,
  http2: boolean,
  options: HttpFrontOptions,
  onRequest: (request: AnyRequest, response: AnyResponse) => void,
): Server {
  const hosts = ['127.0.0.1', '::1', 'localhost', 'kubernetes', ...(options.hosts ?? [])];
  const { cert, key } = authority.issue({ commonName: 'kube-apiserver', hosts, usage: 'server' });
  const tls = {
    cert,
    key,
    ca: authority.cert,
    requestCert: true,
    // Not in the handshake: a certificate is optional, and a bad one is rejected with 401.
    rejectUnauthorized: false,
  };
  if (!http2) return createHttpsServer(tls, onRequest);
  const settings = options.maxStreams === undefined ? {} : { maxConcurrentStreams: options.maxStreams };
  const server = createSecureServer({ ...tls, allowHTTP1: true, settings }, onRequest);
  server.on('sessionError', () => undefined);
  return server;
}

function userOf(request: AnyRequest): User | undefined {
  const socket = request.socket as Partial<TLSSocket>;
  if (socket.authorized !== true || socket.getPeerCertificate === undefined) return undefined;
  const subject = socket.getPeerCertificate().subject as unknown as
    | Record<string, string | string[]>
    | undefined;
  if (subject?.['CN'] === undefined) return undefined;
  return { name: String(subject['CN']), groups: [...[subject['O'] ?? []].flat(), 'system:authenticated'] };
}

/**
 * Whether the certificate is expired or signed by another authority: a real server rejects it even beside a valid
 * token.
 */
function hasBadCertificate(request: AnyRequest): boolean {
  const socket = request.socket as Partial<TLSSocket>;
  if (socket.authorized !== false || socket.getPeerCertificate === undefined) return false;
  // Without a certificate, Node returns an empty object.
  return Object.keys(socket.getPeerCertificate()).length > 0;
}

/** The user of the impersonation headers, which an administrator may send. */
function impersonated(request: AnyRequest, user: User | undefined): User | undefined {
  const as = request.headers['impersonate-user'];
  if (as === undefined || user?.groups.includes('system:masters') !== true) return user;
  const groups = String(request.headers['impersonate-group'] ?? '')
    .split(',')
    .map((each) => each.trim());
  return { name: String(as), groups: [...groups.filter(Boolean), 'system:authenticated'] };
}

async function answer(
  double: ApiServerDouble,
  request: AnyRequest,
  response: AnyResponse,
  proxy: KubeletProxy | undefined,
): Promise<void> {
  const abort = new AbortController();
  response.on('close', () => abort.abort());
  response.on('error', () => abort.abort());
  const user = impersonated(request, userOf(request));
  const raw: RawRequest = {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: flat(request.headers),
    body: await bodyOf(request),
    user,
    signal: abort.signal,
  };
  try {
    if (hasBadCertificate(request)) throw new ApiError(401, 'Unauthorized', 'Unauthorized');
    if (proxy !== undefined && (await proxy.request(double, raw, response as ServerResponse))) return;
    await write(response as ServerResponse, await double.handle(raw));
  } catch (err) {
    if (abort.signal.aborted) return;
    await write(response as ServerResponse, errorResponse(err));
  }
}

function flat(headers: AnyRequest['headers']): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return plain;
}

async function bodyOf(request: AnyRequest): Promise<string> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk);
  } catch {
    // The client has disconnected and will not read the response.
    return '';
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function write(response: ServerResponse, { body, headers, status }: RawResponse): Promise<void> {
  if (response.destroyed) return;
  response.writeHead(status, headers);
  if (typeof body === 'string') {
    response.end(body);
    return;
  }
  // Sends the headers of a watch before its first event.
  response.flushHeaders();
  for await (const part of body) {
    if (response.destroyed) return;
    response.write(part);
  }
  response.end();
}
