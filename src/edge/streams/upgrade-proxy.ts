// Proxies an upgraded connection (SPDY, WebSocket) to another server, byte for byte: exec, attach and port-forward are spoken
// between the client and the runtime's streaming server.
// Owns the connections to those servers, and the client's from the hand-over on. Invariants: no byte is lost, including those
// sent along with the request; backpressure is passed on in both directions; when either side closes, both are closed; a request
// that cannot be proxied gets one response; once proxy() settles, nothing stays open.
// Upstream: apimachinery/pkg/util/proxy (UpgradeAwareHandler) as pkg/kubelet/server uses it.
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { KubeletError } from '../../base/errors.ts';
import type { DialTls } from '../http-client/dial-url.ts';
import { acceptHandshake, rejectHandshake } from '../websocket/handshake.ts';
import { WebSocketStream } from '../websocket/web-socket-stream.ts';
import { keepReading } from './keep-reading.ts';
import { forwardedHeaders, tunnelHeaders, tunnelPrefix } from './upgrade-headers.ts';
import { requestUpgrade } from './upgrade-request.ts';

export interface UpgradeProxyOptions {
  /** A connection without a byte in either direction for this long is closed; 0: never. */
  readonly idleMs: number;
  /** How long the other server may take to respond. */
  readonly answerMs?: number;
  /** Once one side has ended, how long the other may be silent. */
  readonly lingerMs?: number;
  /** Options for TLS; by default the machine's trusted roots and no client certificate. */
  readonly tls?: DialTls;
  /** The response to a request that cannot be proxied; by default upstream's 500 with the error's text. */
  readonly answer?: (err: KubeletError) => string;
  /** Called for every request that cannot be proxied. */
  readonly onError?: (err: unknown) => void;
}

/** Node's limit for timers. */
const maxTimerMs = 2 ** 31 - 1;
const keepAliveMs = 15_000;
/** Grace period for the client to drain its last bytes. */
const drainMs = 10_000;

export class UpgradeProxy {
  readonly #options: UpgradeProxyOptions;
  #open = 0;

  constructor(options: UpgradeProxyOptions) {
    this.#options = options;
  }

  /** The number of connections that are being proxied. */
  get open(): number {
    return this.#open;
  }

  /**
   * Takes over the client's socket; settles when both sides are closed, and never rejects. `head` is what the client has
   * already sent after its request; aborting closes both. `unwrap`: the client tunnels SPDY through a WebSocket.
   */
  async proxy(
    request: IncomingMessage,
    client: Duplex,
    head: Buffer,
    { unwrap = false, url }: { readonly url: string; readonly unwrap?: boolean },
    signal?: AbortSignal,
  ): Promise<void> {
    const tunnel = new Tunnel(this.#options, client, unwrap);
    const onAbort = (): void => tunnel.destroy();
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted === true) onAbort();
    this.#open++;
    try {
      await tunnel.run(request, head, url);
    } finally {
      this.#open--;
      signal?.removeEventListener('abort', onAbort);
    }
  }
}

class Tunnel {
  readonly #options: UpgradeProxyOptions;
  readonly #client: Duplex;
  readonly #unwrap: boolean;
  readonly #clientClosed: Promise<void>;
  readonly #opened = new Set<{ destroy(): unknown }>();
  /** What the client sends and receives in the proxied protocol. */
  #payload: Duplex;
  #backend: Duplex | undefined;

  constructor(options: UpgradeProxyOptions, client: Duplex, unwrap: boolean) {
    this.#options = options;
    this.#client = client;
    this.#payload = client;
    this.#unwrap = unwrap;
    // An error of the client is not reported; its 'close' event follows.
    client.on('error', () => client.destroy());
    this.#clientClosed = new Promise((resolve) => {
      if (client.destroyed) resolve();
      else client.once('close', () => resolve());
    });
  }

  async run(request: IncomingMessage, head: Buffer, url: string): Promise<void> {
    const client = this.#client as Partial<Socket>;
    // The port's timeouts do not apply to a stream.
    client.setTimeout?.(0);
    client.setKeepAlive?.(true, keepAliveMs);
    client.setNoDelay?.(true);
    // The client may end its side while it still receives.
    this.#client.allowHalfOpen = true;
    void this.#clientClosed.then(() => this.destroy());
    try {
      await this.#connect(request, head, new URL(url));
    } catch (err) {
      this.#fail(asKubeletError(err));
    }
    await this.#clientClosed;
    const backend = this.#backend;
    if (backend !== undefined && !backend.closed) {
      await new Promise<void>((resolve) => {
        backend.once('close', () => resolve());
      });
    }
  }

  destroy(): void {
    this.#client.destroy();
    for (const each of this.#opened) each.destroy();
  }

  async #connect(request: IncomingMessage, head: Buffer, url: URL): Promise<void> {
    const rejection = this.#unwrap ? rejectHandshake(request) : undefined;
    if (rejection !== undefined) {
      this.#client.end(rejection);
      this.#drain();
      return;
    }
    const { firstBytes, response, socket } = await requestUpgrade({
      url,
      method: this.#unwrap ? 'POST' : (request.method ?? 'GET'),
      headers: this.#unwrap ? tunnelHeaders(request) : forwardedHeaders(request),
      answerMs: this.#options.answerMs ?? 30_000,
      tls: this.#options.tls,
      opened: (connection) => {
        this.#opened.add(connection);
        this.#backend ??= connection as Duplex;
        if (this.#client.destroyed) connection.destroy();
      },
    });
    if (socket === undefined) {
      const status = response.statusCode ?? 0;
      if (status < 400) throw new Error(`invalid upgrade response: status code ${status}`);
      this.#relay(response);
      return;
    }
    this.#backend = socket;
    if (this.#unwrap) this.#openWebSocket(request, response, head);
    else this.#client.write(headText(response));
    if (!this.#unwrap && head.length > 0) socket.write(head);
    this.#join(socket, firstBytes);
  }

  #openWebSocket(request: IncomingMessage, response: IncomingMessage, head: Buffer): void {
    const { upgrade = '' } = response.headers;
    if (!upgrade.toLowerCase().includes('spdy/3.1')) {
      throw new Error('unable to upgrade: missing upgrade headers in response');
    }
    const chosen = String(response.headers['x-stream-protocol-version'] ?? '').trim();
    this.#client.write(acceptHandshake(request, chosen === '' ? '' : `${tunnelPrefix}${chosen}`));
    this.#payload = new WebSocketStream(this.#client, head);
    this.#payload.on('error', () => this.#client.destroy());
  }

  #join(backend: Duplex, firstBytes: Buffer): void {
    const payload = this.#payload;
    if (firstBytes.length > 0) payload.write(firstBytes);
    const { idleMs, lingerMs = 30_000 } = this.#options;
    // The backend's socket carries both directions.
    this.#limitIdle(backend);
    const onEnd = (): void => {
      (backend as Socket).setTimeout(idleMs === 0 ? lingerMs : Math.min(idleMs, lingerMs));
    };
    // The client may have ended before the pipe was set up.
    if (payload.readableEnded) onEnd();
    for (const side of [payload, backend]) side.once('end', onEnd);
    keepReading(backend);
    backend.on('error', () => backend.destroy());
    backend.once('close', () => {
      // Also on an error: the client gets everything that was received before.
      if (!backend.readableEnded) payload.end();
      this.#drain();
    });
    payload.pipe(backend);
    backend.pipe(payload);
  }

  /** Relays the other server's error response unchanged. */
  #relay(response: IncomingMessage): void {
    const client = this.#client;
    client.write(headText(response, ['connection', 'keep-alive', 'transfer-encoding']));
    response.on('error', () => client.destroy());
    response.pipe(client);
    this.#drain();
  }

  #fail(err: KubeletError): void {
    for (const each of this.#opened) each.destroy();
    if (this.#client.destroyed) return;
    this.#options.onError?.(err);
    this.#client.end((this.#options.answer ?? plainError)(err));
    this.#drain();
  }

  /**
   * Lets the client read the remaining bytes. What it sends is discarded until it closes: a socket that is closed with
   * unread data resets the connection, which discards what was sent.
   */
  #drain(): void {
    const client = this.#client;
    if (client.destroyed) return;
    let timer: NodeJS.Timeout | undefined;
    const onWritten = (): void => {
      timer = setTimeout(() => client.destroy(), drainMs);
    };
    client.once('close', () => clearTimeout(timer));
    if (client.writableFinished) onWritten();
    else client.once('finish', onWritten);
    this.#limitIdle(client);
    this.#payload.resume();
  }

  #limitIdle(socket: Duplex): void {
    // Registered separately: with a timeout of 0, setTimeout() would remove the listener.
    socket.once('timeout', () => this.destroy());
    (socket as Partial<Socket>).setTimeout?.(Math.min(this.#options.idleMs, maxTimerMs));
  }
}

function asKubeletError(err: unknown): KubeletError {
  if (err instanceof KubeletError) return err;
  const text = err instanceof Error ? err.message : String(err);
  return new KubeletError('internal', 'UpgradeFailed', text, { cause: err });
}

/** A status line with its headers as received. */
function headText(response: IncomingMessage, without: readonly string[] = []): string {
  const { rawHeaders, statusCode = 502, statusMessage = '' } = response;
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!without.includes(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  if (without.length > 0) lines.push('Connection: close');
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** In the format of Go's http.Error. */
function plainError({ message }: KubeletError): string {
  const body = `${message}\n`;
  const lines = [
    `HTTP/1.1 500 ${STATUS_CODES[500]}`,
    'Content-Type: text/plain; charset=utf-8',
    'X-Content-Type-Options: nosniff',
    `Date: ${new Date().toUTCString()}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
