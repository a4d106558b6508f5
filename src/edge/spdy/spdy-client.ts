// A SPDY/3.1 client on an upgraded socket: opens streams, writes to them and reports what the server sends.
// Owns the frames, not the socket's life: its user destroys the socket. Invariant: an event for an unknown stream is ignored.
// Upstream: streaming/pkg/httpstream/spdy (connection.go).
import type { Duplex } from 'node:stream';
import { dataHeader, endFrame, pingFrame, resetFrame, SpdyReader, synStreamFrame } from './spdy-frames.ts';

interface SpdyStreamHandler {
  data?(piece: Buffer): void;
  /** Once: the server ended the stream. */
  ended?(how: 'finished' | 'reset'): void;
}

interface OpenStream {
  readonly handler: SpdyStreamHandler;
  localEnded: boolean;
  remoteEnded: boolean;
}

/** The longest payload of a data frame; longer ones are split. */
const maxDataBytes = 1024 * 1024;

export class SpdyClient {
  readonly #socket: Duplex;
  readonly #reader: SpdyReader;
  readonly #streams = new Map<number, OpenStream>();
  readonly #unanswered = new Set<number>();
  readonly #onReplied: () => void;
  #nextId = 1;
  #nextPing = 1;

  /** `onReplied` is called when the server has accepted all streams. */
  constructor(socket: Duplex, onReplied: () => void) {
    this.#socket = socket;
    this.#onReplied = onReplied;
    this.#reader = new SpdyReader({
      data: (id, piece) => this.#streams.get(id)?.handler.data?.(piece),
      ended: (id, how) => this.#ended(id, how),
      replied: (id) => this.#replied(id),
      // Even: the server's own ping.
      ping: (id) => void (id % 2 === 0 && this.#write(pingFrame(id))),
    });
  }

  /** Opens a stream; the server may send data at once. */
  open(headers: Readonly<Record<string, string>>, handler: SpdyStreamHandler): number {
    const id = this.#nextId;
    this.#nextId += 2;
    this.#streams.set(id, { handler, localEnded: false, remoteEnded: false });
    this.#unanswered.add(id);
    this.#write(synStreamFrame(id, headers, id === 1));
    return id;
  }

  /** Whether the server has accepted all streams. */
  get ready(): boolean {
    return this.#unanswered.size === 0;
  }

  /** Throws an Error if the bytes are not SPDY. */
  received(chunk: Buffer): void {
    this.#reader.read(chunk);
  }

  /** False if the socket's buffer is full: continue at its next 'drain'. Data for an ended stream is discarded. */
  write(id: number, data: Buffer): boolean {
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.localEnded) return true;
    this.#socket.cork();
    for (let at = 0; at < data.length; at += maxDataBytes) {
      const piece = data.subarray(at, at + maxDataBytes);
      this.#write(dataHeader(id, piece.length, false));
      this.#write(piece);
    }
    this.#socket.uncork();
    return !this.#socket.writableNeedDrain;
  }

  /** Ends the client's side of the stream. */
  end(id: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.localEnded) return;
    stream.localEnded = true;
    this.#write(dataHeader(id, 0, true));
    this.#forgetIfClosed(id, stream);
  }

  /** Keeps the server from closing an idle connection. */
  ping(): void {
    this.#write(pingFrame(this.#nextPing));
    this.#nextPing = (this.#nextPing + 2) % 0x7fffffff;
  }

  /** Resets all streams and announces the end. The socket must be ended afterwards. */
  close(): void {
    for (const id of this.#streams.keys()) this.#write(resetFrame(id));
    this.#streams.clear();
    this.#write(endFrame());
  }

  #write(bytes: Buffer): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  #replied(id: number): void {
    if (this.#unanswered.delete(id) && this.ready) this.#onReplied();
  }

  #ended(id: number, how: 'finished' | 'reset'): void {
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.remoteEnded) return;
    stream.remoteEnded = true;
    if (how === 'reset') stream.localEnded = true;
    this.#forgetIfClosed(id, stream);
    stream.handler.ended?.(how);
  }

  #forgetIfClosed(id: number, { localEnded, remoteEnded }: OpenStream): void {
    if (localEnded && remoteEnded) this.#streams.delete(id);
  }
}
