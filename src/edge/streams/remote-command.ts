// An exec or attach session of a WebSocket client (v5.channel.k8s.io), translated to SPDY for the runtime's streaming server.
// Owns both connections of the session. Invariants: payloads are passed on as they arrive, with backpressure in both directions;
// the session's last message is a status; a client that disconnects ends its stdin and the session, not the command; once run()
// settles, nothing stays open.
// Upstream: streamtranslator.go and websocket.go in apiserver/pkg/util/proxy, wsstream in k8s.io/streaming.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { RemoteCommandStreams } from '../../api/ports/http.ts';
import { SpdyClient } from '../spdy/spdy-client.ts';
import { closeCodes, FrameReader, type MessagePart, WebSocketError } from '../websocket/frame-reader.ts';
import { closeFrame, messageHeader, pingFrame, pongFrame } from '../websocket/frame-writer.ts';
import { acceptHandshake, rejectHandshake } from '../websocket/handshake.ts';
import { internalError, statusFrom } from './exec-status.ts';
import { type DialedCommand, dialRemoteCommand } from './remote-command-dial.ts';

export interface RemoteCommandOptions {
  /** A session without data in either direction for this long is ended; 0: never. */
  readonly idleMs: number;
  readonly answerMs?: number;
  /** How long the runtime may take to end its side after the client has disconnected. */
  readonly lingerMs?: number;
  /** How long the client may take to read the last bytes. */
  readonly drainMs?: number;
  readonly pingMs?: number;
  /** Called for a session that the runtime did not accept. */
  readonly onError?: (err: unknown) => void;
}

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
/** The first byte of a message that closes the channel of its second byte. */
const closeSignal = 255;
const protocol = 'v5.channel.k8s.io';
/** Of the runtime's error stream; a status has a few hundred bytes. */
const maxStatusBytes = 256 * 1024;
/** How long the runtime may take to accept the streams. */
const streamsMs = 30_000;
const maxTimerMs = 2 ** 31 - 1;

export class RemoteCommand {
  readonly #options: RemoteCommandOptions;
  readonly #client: Duplex;
  readonly #streams: RemoteCommandStreams;
  readonly #reader: FrameReader;
  readonly #ids: { stdin?: number; resize?: number } = {};
  /** The runtime's streams that have not ended. */
  readonly #pending = new Set<'stdout' | 'stderr' | 'error'>();
  readonly #status: Buffer[] = [];
  #statusBytes = 0;
  #spdy: SpdyClient | undefined;
  #backend: Duplex | undefined;
  #runtimeProtocol = '';
  #idle: NodeJS.Timeout | undefined;
  #closeSent = false;
  /** The status was sent, or the client has disconnected. */
  #over = false;
  /** The channel of the message that is being read, and the bytes after a close signal. */
  #channel = -1;
  #signal: number[] = [];

  constructor(options: RemoteCommandOptions, client: Duplex, streams: RemoteCommandStreams) {
    this.#options = options;
    this.#client = client;
    this.#streams = streams;
    this.#reader = new FrameReader({
      data: (piece, part) => this.#message(piece, part),
      ping: (payload) => this.#control(pongFrame(payload)),
      close: () => this.#clientGone(closeCodes.normal),
    });
  }

  /** Settles when both connections are closed, and never rejects. */
  async run(request: IncomingMessage, head: Buffer, url: string): Promise<void> {
    const client = this.#client;
    client.on('error', () => client.destroy());
    client.on('drain', () => this.#backend?.resume());
    const clientClosed = closed(client);
    void clientClosed.then(() => this.#clientGone(closeCodes.normal));
    client.allowHalfOpen = true;
    const timers = this.#startTimers();
    const rejection = rejectHandshake(request);
    if (rejection === undefined) await this.#serve(request, head, url);
    else this.#endClient(rejection);
    await clientClosed;
    if (this.#backend !== undefined) await closed(this.#backend);
    for (const timer of timers) clearTimeout(timer);
  }

  destroy(): void {
    this.#over = true;
    this.#client.destroy();
    this.#backend?.destroy();
  }

  async #serve(request: IncomingMessage, head: Buffer, url: string): Promise<void> {
    const { stderr, stdout } = this.#streams;
    const client = this.#client;
    client.write(acceptHandshake(request, protocol));
    // An empty message on the lowest channel: the client learns that the connection is established.
    const first = stdout ? channels.stdout : stderr ? channels.stderr : channels.error;
    this.#send(first, Buffer.alloc(0));
    try {
      const dialed = await dialRemoteCommand({
        url: new URL(url),
        answerMs: this.#options.answerMs ?? 30_000,
        opened: (socket) => {
          this.#backend ??= socket;
          if (client.destroyed) socket.destroy();
        },
      });
      await this.#openStreams(dialed);
    } catch (err) {
      if (!this.#over) this.#options.onError?.(err);
      this.#finish(internalError(textOf(err)));
      return;
    }
    client.on('data', (chunk: Buffer) => this.#received(chunk));
    client.once('end', () => this.#clientGone(closeCodes.normal));
    if (head.length > 0) this.#received(head);
    client.resume();
  }

  /** Settles when the runtime has accepted the streams: it discards data for others. */
  async #openStreams({ firstBytes, protocol: chosen, socket }: DialedCommand): Promise<void> {
    this.#backend = socket;
    this.#runtimeProtocol = chosen;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('timeout waiting for stream')), streamsMs);
      const settled = (then: () => void) => (): void => {
        clearTimeout(timer);
        then();
      };
      const spdy = new SpdyClient(socket, settled(resolve));
      this.#spdy = spdy;
      const lost = settled(() => {
        if (spdy.ready) this.#runtimeGone();
        else reject(new Error('Stream reset'));
      });
      this.#open(spdy, lost);
      socket.on('error', () => socket.destroy());
      socket.on('drain', () => this.#client.resume());
      socket.once('end', lost);
      socket.once('close', lost);
      const received = (chunk: Buffer): void => this.#fromRuntime(spdy, chunk);
      socket.on('data', received);
      if (firstBytes.length > 0) received(firstBytes);
      socket.resume();
    });
  }

  #open(spdy: SpdyClient, lost: () => void): void {
    const { stderr, stdin, stdout, tty } = this.#streams;
    const output = (kind: 'stdout' | 'stderr'): void => {
      this.#pending.add(kind);
      spdy.open(
        { streamtype: kind },
        { data: (piece) => this.#send(channels[kind], piece), ended: () => this.#ended(kind, lost) },
      );
    };
    this.#pending.add('error');
    spdy.open(
      { streamtype: 'error' },
      { data: (piece) => this.#collectStatus(piece), ended: () => this.#ended('error', lost) },
    );
    if (stdin) {
      // The runtime ends stdin when the command has exited, and waits for this side to end.
      const ended = (): void => this.#endInput();
      this.#ids.stdin = spdy.open({ streamtype: 'stdin' }, { ended });
    }
    if (stdout) output('stdout');
    if (stderr && !tty) output('stderr');
    if (tty && /^v[345]\./.test(this.#runtimeProtocol)) {
      this.#ids.resize = spdy.open({ streamtype: 'resize' }, {});
    }
  }

  #fromRuntime(spdy: SpdyClient, chunk: Buffer): void {
    try {
      this.#client.cork();
      spdy.received(chunk);
    } catch (err) {
      this.#finish(internalError(textOf(err)));
      this.#backend?.destroy();
    } finally {
      this.#client.uncork();
    }
    const [backend, client] = [this.#backend, this.#client];
    if (backend === undefined || !client.writableNeedDrain || this.#over) return;
    backend.pause();
  }

  #collectStatus(piece: Buffer): void {
    if (this.#statusBytes >= maxStatusBytes) return;
    this.#statusBytes += piece.length;
    this.#status.push(piece);
  }

  #ended(kind: 'stdout' | 'stderr' | 'error', lost: () => void): void {
    this.#pending.delete(kind);
    if (this.#spdy?.ready !== true) lost();
    else if (this.#pending.size === 0)
      this.#finish(statusFrom(Buffer.concat(this.#status), this.#runtimeProtocol));
  }

  #runtimeGone(): void {
    // differs from upstream: there a runtime that dies during a command is reported to the client as success.
    const unknown = internalError('the container runtime closed the connection before the command ended');
    this.#finish(
      this.#statusBytes > 0 ? statusFrom(Buffer.concat(this.#status), this.#runtimeProtocol) : unknown,
    );
  }

  #received(chunk: Buffer): void {
    if (this.#over) return;
    const backend = this.#backend;
    try {
      backend?.cork();
      this.#reader.read(chunk);
    } catch (err) {
      if (!(err instanceof WebSocketError)) throw err;
      this.#clientGone(err.code);
    } finally {
      backend?.uncork();
    }
    if (backend === undefined || !backend.writable || !backend.writableNeedDrain) return;
    this.#client.pause();
  }

  #message(piece: Buffer, { first, last }: MessagePart): void {
    let payload = piece;
    if (first) {
      if (piece.length === 0) return;
      this.#channel = piece[0] ?? -1;
      this.#signal = [];
      payload = piece.subarray(1);
    }
    if (this.#channel === closeSignal) {
      if (this.#signal.length < 2) this.#signal.push(...payload.subarray(0, 2));
      if (last) this.#closeChannel(this.#signal);
      return;
    }
    const { resize, stdin } = this.#ids;
    // A terminal's sizes are passed on unchanged: the runtime decodes them. Everything else is ignored, as upstream.
    const id =
      this.#channel === channels.stdin ? stdin : this.#channel === channels.resize ? resize : undefined;
    if (id === undefined || payload.length === 0) return;
    this.#idle?.refresh();
    this.#spdy?.write(id, payload);
  }

  #closeChannel(signal: readonly number[]): void {
    const [channel = -1] = signal;
    if (signal.length !== 1 || channel > channels.resize) {
      this.#clientGone(closeCodes.normal);
    } else if (channel === channels.stdin) this.#endInput();
    else if (channel === channels.resize && this.#ids.resize !== undefined) this.#spdy?.end(this.#ids.resize);
  }

  #endInput(): void {
    if (this.#ids.stdin !== undefined) this.#spdy?.end(this.#ids.stdin);
  }

  #send(channel: number, payload: Buffer): void {
    const client = this.#client;
    if (this.#over || !client.writable) return;
    this.#idle?.refresh();
    client.cork();
    client.write(Buffer.concat([messageHeader(payload.length + 1), Buffer.from([channel])]));
    client.write(payload);
    client.uncork();
  }

  /** A client that does not read gets no control frames, so that they do not pile up. */
  #control(frame: Buffer): void {
    const client = this.#client;
    if (!this.#closeSent && client.writable && !client.writableNeedDrain) client.write(frame);
  }

  /** Ends the session with a status. */
  #finish(status: string): void {
    if (this.#over) return;
    this.#send(channels.error, Buffer.from(status));
    this.#over = true;
    this.#spdy?.close();
    this.#endRuntime();
    this.#sendClose(closeCodes.normal);
    this.#endClient();
  }

  /** The client has closed, disconnected or violated the protocol. What it sent before reaches the command. */
  #clientGone(code: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#endInput();
    this.#sendClose(code);
    this.#endClient();
    this.#endRuntime();
  }

  /** What is still written reaches the runtime; what it sends is discarded. */
  #endRuntime(): void {
    const backend = this.#backend;
    if (backend === undefined) return;
    if (this.#spdy === undefined) backend.destroy();
    backend.end();
    backend.resume();
    this.#lingerThen(backend, this.#options.lingerMs ?? 30_000);
  }

  #sendClose(code: number): void {
    if (this.#closeSent || !this.#client.writable) return;
    this.#closeSent = true;
    this.#client.write(closeFrame(code));
  }

  /**
   * Lets the client read the remaining bytes. What it sends is discarded until it closes: a socket that is closed with
   * unread data resets the connection, which discards what was sent.
   */
  #endClient(last = ''): void {
    const client = this.#client;
    if (client.destroyed) return;
    client.end(last);
    client.resume();
    this.#lingerThen(client, this.#options.drainMs ?? 10_000);
  }

  #lingerThen(socket: Duplex | undefined, ms: number): void {
    if (socket === undefined || socket.destroyed) return;
    const timer = setTimeout(() => socket.destroy(), ms);
    socket.once('close', () => clearTimeout(timer));
  }

  #startTimers(): readonly NodeJS.Timeout[] {
    const client = this.#client as Partial<Socket> & Duplex;
    // The port's timeouts do not apply to a session.
    client.setTimeout?.(0);
    client.setKeepAlive?.(true, 15_000);
    client.setNoDelay?.(true);
    const { idleMs, pingMs = 5_000 } = this.#options;
    // As upstream: the runtime must not take a quiet session for an idle one.
    const pings = setInterval(() => {
      if (this.#over) return;
      this.#spdy?.ping();
      // A client whose input is not read could disconnect unnoticed; a failing write shows it.
      if (this.#client.isPaused()) this.#control(pingFrame());
    }, pingMs);
    if (idleMs === 0) return [pings];
    this.#idle = setTimeout(() => this.#clientGone(closeCodes.endpointLeaves), Math.min(idleMs, maxTimerMs));
    return [pings, this.#idle];
  }
}

function closed(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

/** Without its causes, which the text has in Go's words already. */
function textOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
