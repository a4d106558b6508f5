// One request on one connection: read as data, handed to the handler, its answer written. Shared by the plain and the secure
// listener. Invariants: a handler that throws becomes a 500 and is reported once; a stream is written no faster than its
// client reads, and is returned when the client has gone; nothing cuts a stream off but its client and the server's end.
import { type IncomingMessage, ServerResponse } from 'node:http';
import { constants, Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type {
  ClientCertificate,
  HttpAnswer,
  HttpHandler,
  HttpRequest,
  HttpResponse,
  HttpStream,
} from '../../api/http.ts';
import { Aborted, isAbort, KubeletError } from '../../base/errors.ts';
import { raceAbort } from '../../base/race-abort.ts';
import type { Connection, Exchange, HttpConnections } from './http-connections.ts';
import type { HttpLimits } from './http-limits.ts';

/**
 * Connects an upgraded client with another server: `head` is what the client sent already after its request. Owns the
 * socket from then on, and settles when the connection has ended. Must not write to the client before the other
 * server answered.
 */
export type ProxyUpgrade = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  url: string,
  signal: AbortSignal,
) => Promise<void>;

export interface ExchangeOptions {
  readonly handler: HttpHandler;
  readonly limits: HttpLimits;
  readonly connections: HttpConnections;
  /** The client's certificate of a connection. */
  readonly certificateOf?: (connection: Connection) => ClientCertificate | undefined;
  readonly proxyUpgrade?: ProxyUpgrade | undefined;
  /** Gets what a handler threw. */
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

/** Answers an ordinary request. Never rejects. */
export async function answerRequest(
  options: ExchangeOptions,
  message: Message,
  response: Response,
): Promise<void> {
  const { connections, limits } = options;
  const connection = connectionOf(message);
  const exchange = connections.begin(connection);
  response.once('close', () => {
    connections.end(connection, exchange);
    if (!exchange.answered) exchange.abort.abort(new Aborted('the client went away'));
  });
  if (declaredBytes(message) > limits.bodyBytes) {
    send(response, { ...internalError, status: 413, body: 'request body too large\n' }, true);
    return;
  }
  if (message instanceof Http2ServerRequest) limitBody(message, limits.requestTimeoutMs);
  // Until there is something to write, nobody is stalled: a handler may take its time.
  response.setTimeout(0);
  const answer = await handle(options, message, exchange, false);
  discardBody(message, limits.bodyBytes);
  const result = 'proxyTo' in answer ? upgradeRequired : answer;
  await write(options, response, result, exchange, connections.isLast(connection));
}

/** Answers a request to speak another protocol: by handing the connection on, or with an answer that ends it. Never rejects. */
export async function answerUpgrade(
  options: ExchangeOptions,
  message: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  const { connections, proxyUpgrade } = options;
  const exchange = connections.begin(socket);
  const onClose = (): void => exchange.abort.abort(new Aborted('the client went away'));
  socket.once('close', onClose);
  socket.on('error', () => socket.destroy());
  socket.setTimeout(0);
  const answer = await handle(options, message, exchange, true);
  if ('proxyTo' in answer && proxyUpgrade !== undefined) {
    exchange.streaming = true;
    if (connections.closing) exchange.abort.abort(new Aborted('the server closes'));
    try {
      await proxyUpgrade(message, socket, head, answer.proxyTo, exchange.abort.signal);
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

function parseRequest(
  options: ExchangeOptions,
  message: Message,
  exchange: Exchange,
  upgrade: boolean,
): HttpRequest | undefined {
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
      signal: exchange.abort.signal,
      upgrade,
      certificate: options.certificateOf?.(connectionOf(message)),
      readBody: (mostBytes) => readBody(message, mostBytes, exchange.abort.signal),
    };
  } catch {
    return undefined;
  }
}

const bodyTooLarge = 'RequestEntityTooLarge';

async function readBody(message: Message, mostBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const all = new Promise<Uint8Array>((resolve, reject) => {
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= mostBytes) chunks.push(chunk);
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

/** What is left of a body is read past, and one that is too long ends the connection. */
function discardBody(message: Message, most: number): void {
  if (message.complete) return;
  let seen = 0;
  message.on('data', (chunk: Buffer) => {
    seen += chunk.length;
    if (seen > most) message.destroy();
  });
  message.once('error', () => undefined);
}

/**
 * A request whose end does not come would keep its connection for ever: it is over with its answer, or when its time is.
 * Of HTTP/1.1 Node sees to that.
 */
function limitBody(message: Http2ServerRequest, most: number): void {
  const { stream } = message;
  if (stream.endAfterHeaders) return;
  const timer = setTimeout(() => {
    if (!message.complete) stream.close(constants.NGHTTP2_CANCEL);
  }, most);
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
  const { stalledMs, streamStalledMs } = options.limits;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    // The socket's own time-out: nothing was taken for that long.
    response.setTimeout(stalledMs, () => response.destroy());
    exchange.answered = true;
    send(response, { ...result, body }, last);
    return;
  }
  exchange.streaming = true;
  const { signal } = exchange.abort;
  if (options.connections.closing) exchange.abort.abort(new Aborted('the server closes'));
  try {
    await sendStream(response, { ...result, body }, signal, streamStalledMs, last);
    exchange.answered = true;
    response.end();
  } catch (err) {
    // Cut off in the middle, so that nobody takes what came for the whole.
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
  // The two kinds of response agree on this call, not on its type.
  (response as ServerResponse).end(body);
}

function writeHead(
  response: Response,
  { headers, status }: { readonly status: number; readonly headers: HttpResponse['headers'] },
  last: boolean,
  more: Readonly<Record<string, string>> = {},
): void {
  // HTTP/2 knows no such header: there a connection ends by itself.
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
    // HTTP/2 has sent them already.
    if (response instanceof ServerResponse) response.flushHeaders();
    for (;;) {
      const next = await raceAbort(Promise.resolve(chunks.next()), signal);
      if (next.done === true) break;
      if (!(response as ServerResponse).write(next.value)) await drained(response, signal, stalledMs);
    }
  } finally {
    // Not waited for: a source that is stuck would keep the exchange open.
    Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}

async function drained(response: Response, signal: AbortSignal, stalledMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let onDrain = (): void => undefined;
  const taken = new Promise<void>((resolve, reject) => {
    onDrain = resolve;
    response.once('drain', onDrain);
    timer = setTimeout(() => reject(new Aborted('the client does not read')), stalledMs);
  });
  try {
    await raceAbort(taken, signal);
  } finally {
    clearTimeout(timer);
    response.off('drain', onDrain);
  }
}
