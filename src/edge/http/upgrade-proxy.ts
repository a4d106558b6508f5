// Proxies an upgraded connection (SPDY, WebSocket) to another server, byte for byte: exec, attach and port-forward are spoken
// between the client and the runtime's streaming server.
// Owns the connections to those servers, and the client's from the hand-over on. Invariants: no byte is lost, including those
// sent along with the request; backpressure is passed on in both directions; when either side closes, both are closed; a request
// that cannot be proxied gets one response; once proxy() settles, nothing stays open.
// Upstream: apimachinery/pkg/util/proxy (UpgradeAwareHandler) as pkg/kubelet/server uses it.
import { type ClientRequest, request as httpRequest, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { KubeletError } from '../../base/errors.ts';
import { type DialTls, dialUrl } from '../http-client/dial-url.ts';
import { codeOf } from '../probe/go-error.ts';
import { keepReading } from './keep-reading.ts';
import { forwardedHeaders } from './upgrade-headers.ts';

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
  readonly onError?: (err: KubeletError) => void;
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
   * already sent after its request; aborting closes both.
   */
  async proxy(
    request: IncomingMessage,
    client: Duplex,
    head: Buffer,
    url: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const tunnel = new Tunnel(this.#options, client);
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
  readonly #clientClosed: Promise<void>;
  #outgoing: ClientRequest | undefined;
  #backend: Duplex | undefined;

  constructor(options: UpgradeProxyOptions, client: Duplex) {
    this.#options = options;
    this.#client = client;
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
    this.#backend?.destroy();
    this.#outgoing?.destroy();
  }

  async #connect(request: IncomingMessage, head: Buffer, url: URL): Promise<void> {
    const backend = await dialUrl(url, this.#options.tls, (socket) => {
      this.#backend = socket;
      if (this.#client.destroyed) socket.destroy();
    });
    await new Promise<void>((resolve, reject) => {
      const outgoing = httpRequest({
        method: request.method ?? 'GET',
        path: `${url.pathname}${url.search}`,
        headers: forwardedHeaders(request),
        createConnection: () => backend,
      });
      this.#outgoing = outgoing;
      const timer = setTimeout(
        () => outgoing.destroy(new Error('the server did not respond in time')),
        this.#options.answerMs ?? 30_000,
      );
      const settle = (then: () => void): void => {
        clearTimeout(timer);
        then();
      };
      outgoing.once('close', () => settle(resolve));
      // Permanent: an error after the upgrade must not be uncaught.
      outgoing.on('error', (err) => settle(() => reject(sendError(err, url))));
      outgoing.once('upgrade', (response, socket, firstBytes) =>
        settle(() => {
          this.#backend = socket;
          this.#join(response, socket, firstBytes, head);
          resolve();
        }),
      );
      outgoing.once('response', (response) =>
        settle(() => {
          const status = response.statusCode ?? 0;
          if (status >= 400) this.#relay(response);
          else reject(new Error(`invalid upgrade response: status code ${status}`));
        }),
      );
      outgoing.end();
    });
  }

  #join(response: IncomingMessage, backend: Duplex, firstBytes: Buffer, head: Buffer): void {
    const client = this.#client;
    client.write(headText(response));
    if (firstBytes.length > 0) client.write(firstBytes);
    if (head.length > 0) backend.write(head);
    const { idleMs, lingerMs = 30_000 } = this.#options;
    // The backend's socket carries both directions.
    this.#limitIdle(backend);
    const onEnd = (): void => {
      (backend as Socket).setTimeout(idleMs === 0 ? lingerMs : Math.min(idleMs, lingerMs));
    };
    // The client may have ended before the pipe was set up.
    if (client.readableEnded) onEnd();
    for (const side of [client, backend]) side.once('end', onEnd);
    keepReading(backend);
    backend.on('error', () => backend.destroy());
    backend.once('close', () => {
      // Also on an error: the client gets everything that was received before.
      if (!backend.readableEnded) client.end();
      this.#drain();
    });
    client.pipe(backend);
    backend.pipe(client);
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
    this.#outgoing?.destroy();
    this.#backend?.destroy();
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
    client.resume();
  }

  #limitIdle(socket: Duplex): void {
    // Registered separately: with a timeout of 0, setTimeout() would remove the listener.
    socket.once('timeout', () => this.destroy());
    (socket as Partial<Socket>).setTimeout?.(Math.min(this.#options.idleMs, maxTimerMs));
  }
}

function sendError(err: Error, url: URL): KubeletError {
  // Go's message for a server that closes the connection instead of responding.
  const text = codeOf(err) === 'ECONNRESET' ? 'unexpected EOF' : err.message;
  return new KubeletError('unavailable', 'UpgradeFailed', text, { cause: err, details: { host: url.host } });
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
