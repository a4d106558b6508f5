// Passes an upgraded connection (SPDY, WebSocket) on to another server, byte for byte: exec, attach and port-forward are
// spoken between the client and the runtime's streaming server, and nobody in between understands them.
// Owns the connections to those servers, and from the hand-over on the clients'. Invariants: no byte is lost, those that came
// along with the request included; who reads slowly slows down who writes; when either side has gone both are closed; a
// request that cannot be passed on gets one answer; once it settles, nothing is left open.
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
  /** Without a byte in either direction for so long, a connection is closed; 0: never. */
  readonly idleMs: number;
  /** How long the other server may take to answer the request. */
  readonly answerMs?: number;
  /** Once one side has said its last, how long the other may be silent. */
  readonly lingerMs?: number;
  /** How to talk TLS; by default as any client, with what the machine trusts. */
  readonly tls?: DialTls;
  /** What the client gets when its request could not be passed on; by default upstream's 500 with the error's text. */
  readonly answer?: (err: KubeletError) => string;
  /** Told of every request that could not be passed on. */
  readonly onError?: (err: KubeletError) => void;
}

/** A timer cannot be longer. */
const longestMs = 2 ** 31 - 1;
const keepAliveMs = 15_000;
/** Who has not taken the last bytes by then does not want them. */
const partMs = 10_000;

export class UpgradeProxy {
  readonly #options: UpgradeProxyOptions;
  #open = 0;

  constructor(options: UpgradeProxyOptions) {
    this.#options = options;
  }

  /** Connections that are being passed on now. */
  get open(): number {
    return this.#open;
  }

  /**
   * Takes the client's socket over; settles when both sides are closed, and never rejects. `head` is what the client sent
   * already after its request; aborting closes both.
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
  readonly #gone: Promise<void>;
  #outgoing: ClientRequest | undefined;
  #backend: Duplex | undefined;

  constructor(options: UpgradeProxyOptions, client: Duplex) {
    this.#options = options;
    this.#client = client;
    // A client that breaks off is no failure of ours; its close tells.
    client.on('error', () => client.destroy());
    this.#gone = new Promise((resolve) => {
      if (client.destroyed) resolve();
      else client.once('close', () => resolve());
    });
  }

  async run(request: IncomingMessage, head: Buffer, url: string): Promise<void> {
    const client = this.#client as Partial<Socket>;
    // The limits of a port that answers requests are not those of a stream.
    client.setTimeout?.(0);
    client.setKeepAlive?.(true, keepAliveMs);
    client.setNoDelay?.(true);
    // Its last word is not ours.
    this.#client.allowHalfOpen = true;
    void this.#gone.then(() => this.destroy());
    try {
      await this.#connect(request, head, new URL(url));
    } catch (err) {
      this.#refuse(asRefusal(err));
    }
    await this.#gone;
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
        () => outgoing.destroy(new Error('no answer in time')),
        this.#options.answerMs ?? 30_000,
      );
      const settle = (then: () => void): void => {
        clearTimeout(timer);
        then();
      };
      outgoing.once('close', () => settle(resolve));
      // For good: a connection that breaks later must not go unheard.
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
    // Whatever passes, passes here, in either direction.
    this.#limitIdle(backend);
    const onEnd = (): void => {
      (backend as Socket).setTimeout(idleMs === 0 ? lingerMs : Math.min(idleMs, lingerMs));
    };
    // A client may have said its last before anybody read.
    if (client.readableEnded) onEnd();
    for (const side of [client, backend]) side.once('end', onEnd);
    keepReading(backend);
    backend.on('error', () => backend.destroy());
    backend.once('close', () => {
      // Also when it broke off: what it has said before is the client's.
      if (!backend.readableEnded) client.end();
      this.#part();
    });
    client.pipe(backend);
    backend.pipe(client);
  }

  /** The other server's own refusal, as it is. */
  #relay(response: IncomingMessage): void {
    const client = this.#client;
    client.write(headText(response, ['connection', 'keep-alive', 'transfer-encoding']));
    response.on('error', () => client.destroy());
    response.pipe(client);
    this.#part();
  }

  #refuse(err: KubeletError): void {
    this.#outgoing?.destroy();
    this.#backend?.destroy();
    if (this.#client.destroyed) return;
    this.#options.onError?.(err);
    this.#client.end((this.#options.answer ?? plainAnswer)(err));
    this.#part();
  }

  /**
   * Lets the client take what is still on its way. What it sends is read past until it closes: a socket that is closed with
   * something unread in it takes back what it has sent.
   */
  #part(): void {
    const client = this.#client;
    if (client.destroyed) return;
    let timer: NodeJS.Timeout | undefined;
    const onWritten = (): void => {
      timer = setTimeout(() => client.destroy(), partMs);
    };
    client.once('close', () => clearTimeout(timer));
    if (client.writableFinished) onWritten();
    else client.once('finish', onWritten);
    this.#limitIdle(client);
    client.resume();
  }

  #limitIdle(socket: Duplex): void {
    // Apart from the time: with a time of 0 Node would forget who listens.
    socket.once('timeout', () => this.destroy());
    (socket as Partial<Socket>).setTimeout?.(Math.min(this.#options.idleMs, longestMs));
  }
}

function sendError(err: Error, url: URL): KubeletError {
  // Go's word for a server that hangs up instead of answering.
  const text = codeOf(err) === 'ECONNRESET' ? 'unexpected EOF' : err.message;
  return new KubeletError('unavailable', 'UpgradeFailed', text, { cause: err, details: { host: url.host } });
}

function asRefusal(err: unknown): KubeletError {
  if (err instanceof KubeletError) return err;
  const text = err instanceof Error ? err.message : String(err);
  return new KubeletError('internal', 'UpgradeFailed', text, { cause: err });
}

/** A status line with its headers as they came. */
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

/** As http.Error writes it. */
function plainAnswer({ message }: KubeletError): string {
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
