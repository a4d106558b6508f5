// One request on one connection: parsed into data, passed to the handler, its response written. Shared by the plain and the
// secure listener. Invariants: a handler that throws becomes a 500 and is reported once; a stream is written no faster than its
// client reads, and is returned when the client disconnects; only its client and the end of the server cut a stream off.
import { type IncomingMessage, ServerResponse } from 'node:http';
import { constants, Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type {
  ClientCertificate,
  HttpAnswer,
  HttpConnection,
  HttpHandler,
  HttpRequest,
  HttpResponse,
  HttpStream,
  ProxyAnswer,
} from '../../api/ports/http.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import { Aborted, isAbort, KubeletError } from '../../base/errors.ts';
import type { Connection, Exchange, HttpConnections } from './http-connections.ts';
import type { HttpLimits } from './http-limits.ts';
import type { PacedTurns } from './paced-turns.ts';
import { peerOf } from './peer-address.ts';
import type { PeerClient, PeerLimits, Refusal } from './peer-limits.ts';

/**
 * Connects an upgraded client with another server: `head` is what the client has already sent after its request. Owns the
 * socket from then on and settles when the connection has ended.
 */
export type ProxyUpgrade = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  to: ProxyAnswer,
  signal: AbortSignal,
) => Promise<void>;

export interface ExchangeOptions {
  readonly handler: HttpHandler;
  readonly limits: HttpLimits;
  readonly connections: HttpConnections;
  readonly peers: PeerLimits;
  readonly turns: PacedTurns;
  /** The client's certificate of a connection. */
  readonly certificateOf?: (connection: Connection) => ClientCertificate | undefined;
  readonly proxyUpgrade?: ProxyUpgrade | undefined;
  /** Called with errors of handlers. */
  readonly onError?: ((err: unknown, request?: HttpRequest) => void) | undefined;
}

type Message = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

const plainText = { 'content-type': 'text/plain; charset=utf-8' };
const internalError: HttpResponse = { status: 500, headers: plainText, body: 'internal server error\n' };
const upgradeRequired: HttpResponse = {
  status: 500,
  headers: { ...plainText, 'x-content-type-options': 'nosniff' },
  body: 'Upgrade request required\n',
};

/** Answers an ordinary request, at once or when its turn comes. */
export function answerRequest(options: ExchangeOptions, message: Message, response: Response): void {
  const { connections, limits, peers, turns } = options;
  const connection = connectionOf(message);
  if (!(message instanceof Http2ServerRequest) && connections.inFlight(connection) >= limits.pipelined) {
    cutOff(message.socket);
    return;
  }
  const client = peers.clientOf(message.socket);
  const refusal = client && peers.beginRequest(client);
  if (client !== undefined && refusal !== undefined) {
    refuse(message, response, client, refusal);
    return;
  }
  const exchange = connections.begin(connection);
  response.once('close', () => {
    connections.end(connection, exchange);
    if (client !== undefined) peers.endRequest(client);
    if (!exchange.answered) exchange.abort.abort(new Aborted('the client disconnected'));
  });
  const answer = (): void => {
    // A response of HTTP/2 has no `destroyed`.
    if (exchange.abort.signal.aborted) return;
    // For example a header that cannot be sent. An unhandled rejection would end the kubelet.
    answerNow(options, message, response, exchange, client).catch((err: unknown) => {
      options.onError?.(err);
      response.destroy();
    });
  };
  if (client?.admitted === false) turns.run(answer);
  else answer();
}

const refusals: Readonly<Record<Refusal, string>> = {
  'peer-requests': 'too many unauthenticated requests from this address\n',
  requests: 'too many unauthenticated requests\n',
  'in-flight': 'too many requests in flight\n',
  memory: 'too many responses are waiting to be read\n',
};

/** An admitted client keeps its connection; that of another one ends, so that each retry costs a handshake. */
function refuse(message: Message, response: Response, client: PeerClient, refusal: Refusal): void {
  const answer = { status: 429, headers: { ...plainText, 'retry-after': '1' }, body: refusals[refusal] };
  response.on('error', () => undefined);
  if (client.admitted) {
    message.resume();
    send(response, answer, false);
  } else if (message instanceof Http2ServerRequest) {
    message.stream.session?.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  } else {
    response.once('finish', () => message.socket.destroySoon());
    send(response, answer, true);
    stopParsing(message.socket);
  }
}

/** Ends an HTTP/1.1 connection, including requests that were already read from it. */
function cutOff(socket: Socket): void {
  stopParsing(socket);
  socket.destroy();
}

/**
 * Without it, Node would deliver every request of the chunk that it has read, up to thousands. Its parser stops at a request
 * for which onIncoming returns 2, which means a protocol upgrade.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as { readonly parser?: { onIncoming?: () => number } | null };
  if (parser?.onIncoming !== undefined) parser.onIncoming = () => 2;
}

async function answerNow(
  options: ExchangeOptions,
  message: Message,
  response: Response,
  exchange: Exchange,
  client: PeerClient | undefined,
): Promise<void> {
  const { connections, limits, peers } = options;
  const connection = connectionOf(message);
  if (declaredBytes(message) > limits.bodyBytes) {
    send(response, { ...internalError, status: 413, body: 'request body too large\n' }, true);
    return;
  }
  if (message instanceof Http2ServerRequest) limitBody(message, limits.requestTimeoutMs);
  // No timeout before there is something to write: a handler may take its time.
  response.setTimeout(0);
  const answer = await handle(options, message, exchange, false);
  discardBody(message, limits.bodyBytes);
  const result = 'proxyTo' in answer ? upgradeRequired : answer;
  const { body } = result;
  // A closed response does not emit 'close' again, so its bytes would never be released.
  const isOpen = !exchange.abort.signal.aborted;
  if (isOpen && client !== undefined && (typeof body === 'string' || body instanceof Uint8Array))
    response.once('close', peers.holdBytes(client, body.length));
  await write(options, response, result, exchange, connections.isLast(connection));
}

/** Answers an upgrade request: by passing the connection on, or with a response that ends it. */
export async function answerUpgrade(
  options: ExchangeOptions,
  message: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  const { connections, peers, proxyUpgrade } = options;
  socket.on('error', () => socket.destroy());
  // An earlier request still owns the socket: its response would end up inside the other protocol.
  if (!connections.isIdle(socket)) {
    socket.destroy();
    return;
  }
  const client = peers.clientOf(socket);
  const refusal = client && peers.beginRequest(client);
  if (refusal !== undefined) {
    socket.destroy();
    return;
  }
  const exchange = connections.begin(socket);
  const onClose = (): void => {
    exchange.abort.abort(new Aborted('the client disconnected'));
    if (client !== undefined) peers.endRequest(client);
  };
  socket.once('close', onClose);
  socket.setTimeout(0);
  const answer = await handle(options, message, exchange, true);
  if ('proxyTo' in answer && proxyUpgrade !== undefined) {
    exchange.streaming = true;
    if (connections.closing) exchange.abort.abort(new Aborted('the server is closing'));
    try {
      await proxyUpgrade(message, socket, head, answer, exchange.abort.signal);
    } catch (err) {
      if (!exchange.abort.signal.aborted) options.onError?.(err);
      socket.destroy();
    }
  } else {
    const response = new ServerResponse(message);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    const result = 'proxyTo' in answer ? internalError : answer;
    await write(options, response, result, exchange, true);
  }
  connections.end(socket, exchange);
}

function connectionOf(message: Message): Connection {
  return 'stream' in message && message.stream.session !== undefined
    ? (message.stream.session as ServerHttp2Session)
    : message.socket;
}

async function handle(
  options: ExchangeOptions,
  message: Message,
  exchange: Exchange,
  upgrade: boolean,
): Promise<HttpAnswer> {
  const request = parseRequest(options, message, exchange, upgrade);
  if (request === undefined) return { ...internalError, status: 400, body: '400 Bad Request\n' };
  try {
    return await options.handler(request);
  } catch (err) {
    if (exchange.abort.signal.aborted) return internalError;
    if (err instanceof KubeletError && err.reason === bodyTooLarge)
      return { ...internalError, status: 413, body: `${err.message}\n` };
    options.onError?.(err, request);
    return internalError;
  }
}

function addressesOf({ httpVersion, socket }: Message): HttpConnection {
  const { localPort = 0, remoteAddress = '', remotePort = 0 } = socket;
  // The listener may accept IPv4 clients on an IPv6 socket.
  const address = remoteAddress.replace(/^::ffff:(?=[0-9]+\.)/i, '');
  return { remoteAddress: address, remotePort, localPort, httpVersion };
}

function parseRequest(
  options: ExchangeOptions,
  message: Message,
  exchange: Exchange,
  upgrade: boolean,
): HttpRequest | undefined {
  const target = message.url ?? '/';
  const at = target.indexOf('?');
  try {
    // Clients of a proxy may send the whole URL.
    const rawPath = at < 0 ? target : target.slice(0, at);
    const path = rawPath.startsWith('/') ? rawPath : new URL(rawPath).pathname;
    return {
      method: message.method ?? 'GET',
      path: decodeURIComponent(path),
      query: new URLSearchParams(at < 0 ? '' : target.slice(at + 1)),
      headers: message.headers,
      signal: exchange.abort.signal,
      upgrade,
      certificate: options.certificateOf?.(connectionOf(message)),
      peer: peerOf(message.socket.remoteAddress),
      connection: () => addressesOf(message),
      admitted: () => {
        const client = options.peers.clientOf(message.socket);
        if (client !== undefined) options.peers.admit(client);
      },
      readBody: (maxBytes) => readBody(message, maxBytes, exchange.abort.signal),
    };
  } catch {
    return undefined;
  }
}

const bodyTooLarge = 'RequestEntityTooLarge';

async function readBody(message: Message, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const all = new Promise<Uint8Array>((resolve, reject) => {
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else reject(new KubeletError('invalid', bodyTooLarge, 'request body too large'));
    });
    message.once('end', () => resolve(Buffer.concat(chunks)));
    message.once('error', reject);
  });
  return await raceAbort(all, signal);
}

function declaredBytes(message: Message): number {
  return Number(message.headers['content-length'] ?? 0);
}

/** Reads and discards the rest of a body; a body that is too long ends the connection. */
function discardBody(message: Message, maxBytes: number): void {
  if (message.complete) return;
  let bytes = 0;
  message.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) message.destroy();
  });
  message.once('error', () => undefined);
}

/**
 * A request that never ends would keep its connection open: it is closed after its response, or when it times out.
 * For HTTP/1.1, Node does this.
 */
function limitBody(message: Http2ServerRequest, timeoutMs: number): void {
  const { stream } = message;
  if (stream.endAfterHeaders) return;
  const timer = setTimeout(() => {
    if (!message.complete) stream.close(constants.NGHTTP2_CANCEL);
  }, timeoutMs);
  stream.once('finish', () => {
    if (!message.complete) stream.close(constants.NGHTTP2_NO_ERROR);
  });
  stream.once('close', () => clearTimeout(timer));
}

async function write(
  options: ExchangeOptions,
  response: Response,
  result: HttpResponse,
  exchange: Exchange,
  last: boolean,
): Promise<void> {
  const { body } = result;
  const { stalledMs } = options.limits;
  const streamStalledMs = Math.min(result.stalledMs ?? Infinity, options.limits.streamStalledMs);
  if (typeof body === 'string' || body instanceof Uint8Array) {
    // The socket's timeout: the client has read nothing for that long.
    response.setTimeout(stalledMs, () => response.destroy());
    exchange.answered = true;
    send(response, { ...result, body }, last);
    return;
  }
  exchange.streaming = true;
  const { signal } = exchange.abort;
  if (options.connections.closing) exchange.abort.abort(new Aborted('the server is closing'));
  try {
    await sendStream(response, { ...result, body }, signal, streamStalledMs, last);
    exchange.answered = true;
    // The client must also read what is still buffered; nothing else limits how long that takes.
    response.setTimeout(streamStalledMs, () => response.destroy());
    response.end();
  } catch (err) {
    // Cut off, so that the client does not mistake the partial response for the whole.
    response.destroy();
    if (!signal.aborted && !isAbort(err)) options.onError?.(err);
  }
}

function send(
  response: Response,
  result: { status: number; headers: HttpResponse['headers']; body: string | Uint8Array },
  last: boolean,
): void {
  if (response.destroyed || response.headersSent) return;
  const body = typeof result.body === 'string' ? Buffer.from(result.body) : result.body;
  writeHead(response, result, last, { 'content-length': String(body.byteLength) });
  // Both kinds of response have this method, with different types.
  (response as ServerResponse).end(body);
}

function writeHead(
  response: Response,
  { headers, status }: { readonly status: number; readonly headers: HttpResponse['headers'] },
  last: boolean,
  more: Readonly<Record<string, string>> = {},
): void {
  // HTTP/2 has no such header; its connections end by GOAWAY.
  const end = last && response instanceof ServerResponse ? { connection: 'close' } : {};
  (response as ServerResponse).writeHead(status, { ...headers, ...more, ...end });
}

async function sendStream(
  response: Response,
  result: { status: number; headers: HttpResponse['headers']; body: HttpStream },
  signal: AbortSignal,
  stalledMs: number,
  last: boolean,
): Promise<void> {
  const chunks = result.body[Symbol.asyncIterator]();
  try {
    if (response.destroyed || response.headersSent) return;
    writeHead(response, result, last);
    // HTTP/2 has already sent them.
    if (response instanceof ServerResponse) response.flushHeaders();
    for (;;) {
      const next = await raceAbort(Promise.resolve(chunks.next()), signal);
      if (next.done === true) break;
      if (!(response as ServerResponse).write(next.value)) await drained(response, signal, stalledMs);
    }
  } finally {
    // Not awaited: a source that hangs would keep the exchange open.
    Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}

async function drained(response: Response, signal: AbortSignal, stalledMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let onDrain = (): void => undefined;
  const drain = new Promise<void>((resolve, reject) => {
    onDrain = resolve;
    response.once('drain', onDrain);
    timer = setTimeout(() => reject(new Aborted('the client does not read')), stalledMs);
  });
  try {
    await raceAbort(drain, signal);
  } finally {
    clearTimeout(timer);
    response.off('drain', onDrain);
  }
}
