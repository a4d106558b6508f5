// One HTTP/2 connection: multiplexes requests and watches, and pings to detect a dead peer.
// Upstream: golang.org/x/net/http2 with client-go's settings (read idle 30 s, ping 15 s).
// Invariants: after close() nothing is sent on it; every stream ends, with an error if the connection is lost.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { TransportResponse } from './transport.ts';

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

const pingAfterIdleMs = 30_000;
const pingTimeoutMs = 15_000;
const windowBytes = 1024 * 1024;
const memoryMb = 128;
/** Go's assumption for a server that announces no limit. */
const defaultMaxStreams = 100;
const settingsMs = 15_000;

export class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #authority: string;
  #timer: Timer | undefined;
  #seenBytes = 0;
  #streams = 0;
  #retired = false;
  #maxStreams = 0;

  constructor(socket: Socket, server: URL, clock: Clock) {
    this.#clock = clock;
    this.#socket = socket;
    this.#authority = server.host;
    this.#session = connect(server, {
      createConnection: () => socket,
      maxSessionMemory: memoryMb,
      settings: { enablePush: false, initialWindowSize: windowBytes },
    });
    this.#session.once('connect', () => {
      if (!this.#session.destroyed) this.#session.setLocalWindowSize(windowBytes * 16);
    });
    // Streams report their own failure; without a listener Node would throw.
    this.#session.on('error', () => this.close());
    this.#session.on('goaway', () => this.retire());
    this.#session.once('close', () => this.close());
    this.#watchIdle();
  }

  /** Resolves when the server has announced its stream limit: a stream beyond it would wait for another to end. */
  async ready(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#session.once('remoteSettings', (settings) => {
        this.#maxStreams = settings.maxConcurrentStreams ?? defaultMaxStreams;
        timer.cancel();
        resolve();
      });
      const fail = (): void => {
        timer.cancel();
        reject(new KubeletError('unavailable', 'ConnectionFailed', 'the API server closed the connection'));
      };
      const timer = this.#clock.setTimer(settingsMs, () => this.close());
      this.#session.once('close', fail);
    });
  }

  /** Whether it accepts another stream. */
  get hasRoom(): boolean {
    const max = this.#maxStreams;
    return !this.#retired && !this.#session.closed && !this.#session.destroyed && this.#streams < max;
  }

  get isDone(): boolean {
    return this.#session.destroyed;
  }

  send(request: WireRequest): Promise<TransportResponse> {
    const stream = this.#session.request(
      {
        ...request.headers,
        [constants.HTTP2_HEADER_METHOD]: request.method,
        [constants.HTTP2_HEADER_PATH]: request.path,
        [constants.HTTP2_HEADER_AUTHORITY]: this.#authority,
      },
      { endStream: request.body === undefined },
    );
    this.#streams++;
    const onAbort = (): void => stream.close(constants.NGHTTP2_CANCEL);
    request.signal.addEventListener('abort', onAbort, { once: true });
    stream.once('close', () => {
      this.#streams--;
      request.signal.removeEventListener('abort', onAbort);
      if (this.#retired && this.#streams === 0) this.close();
    });
    if (request.body !== undefined) stream.end(request.body);
    return responseOf(stream, request.signal);
  }

  /** Accepts no more requests; those in flight may end. */
  retire(): void {
    this.#retired = true;
    if (this.#streams === 0) this.close();
  }

  close(): void {
    this.#retired = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!this.#session.destroyed) this.#session.destroy();
    this.#socket.destroy();
  }

  #watchIdle(): void {
    this.#timer = this.#clock.setTimer(pingAfterIdleMs, () => {
      const { bytesRead } = this.#socket;
      const isIdle = bytesRead === this.#seenBytes;
      this.#seenBytes = bytesRead;
      if (isIdle) this.#ping();
      else this.#watchIdle();
    });
  }

  #ping(): void {
    if (this.#session.destroyed || this.#session.closed) return;
    this.#timer = this.#clock.setTimer(pingTimeoutMs, () => this.close());
    this.#session.ping((err) => {
      this.#timer?.cancel();
      if (err === null) this.#watchIdle();
      else this.close();
    });
  }
}

/** Reason of an error for a stream that the server did not process: any request may be resent. */
export const refused = 'StreamRefused';

function responseOf(stream: ClientHttp2Stream, signal: AbortSignal): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    stream.once('response', (headers) => {
      const plain: Record<string, string> = {};
      for (const [name, value] of Object.entries(headers)) {
        if (!name.startsWith(':') && value !== undefined) plain[name] = String(value);
      }
      resolve({ status: headers[':status'] ?? 0, headers: plain, body: bodyOf(stream, signal) });
    });
    stream.on('error', (cause) => reject(brokenStream(stream, cause)));
    stream.once('close', () => reject(signal.aborted ? signal.reason : brokenStream(stream, undefined)));
  });
}

async function* bodyOf(stream: ClientHttp2Stream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let ended = false;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) yield chunk;
    ended = true;
  } catch (cause) {
    throw signal.aborted ? signal.reason : brokenStream(stream, cause);
  } finally {
    // The caller left the loop early: stop the server from sending.
    if (!ended && !stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }
  if (signal.aborted) throw signal.reason;
  if ((stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR) throw brokenStream(stream, undefined);
}

function brokenStream(stream: ClientHttp2Stream, cause: unknown): KubeletError {
  const code = stream.rstCode ?? 0;
  const isGoaway = (cause as { code?: string } | undefined)?.code === 'ERR_HTTP2_GOAWAY_SESSION';
  const reason = code === constants.NGHTTP2_REFUSED_STREAM || isGoaway ? refused : 'ConnectionBroken';
  const message = 'the connection to the API server was lost';
  return new KubeletError('unavailable', reason, message, cause === undefined ? {} : { cause });
}
