// A Duplex over the payloads of a WebSocket's binary messages, for protocols that are tunnelled through it.
// Owns the socket's frames, not the socket: its user ends or destroys that. Invariants: backpressure is passed on in both
// directions; pings are answered; the end of the stream sends a close frame.
// Upstream: TunnelingConnection in client-go/tools/portforward.
import { Duplex } from 'node:stream';
import { closeCodes, FrameReader, WebSocketError } from './frame-reader.ts';
import { closeFrame, messageHeader, pongFrame } from './frame-writer.ts';

type Done = (err?: Error | null) => void;

export class WebSocketStream extends Duplex {
  readonly #socket: Duplex;
  readonly #reader: FrameReader;
  #closeSent = false;
  #inputEnded = false;

  /** `head` is what the client has already sent after its request. */
  constructor(socket: Duplex, head: Buffer) {
    super({ allowHalfOpen: true, emitClose: true });
    this.#socket = socket;
    this.#reader = new FrameReader({
      data: (piece, { binary }) => {
        if (!binary) throw new WebSocketError(closeCodes.unsupported, 'invalid message type received');
        if (piece.length > 0 && !this.#inputEnded && !this.push(piece)) socket.pause();
      },
      ping: (payload) => this.#pong(payload),
      close: (code) => this.#closeReceived(code),
    });
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.once('end', () => this.#endInput());
    socket.once('close', () => this.destroy());
    if (head.length > 0) this.#received(head);
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    const socket = this.#socket;
    if (!socket.writable || this.#closeSent) {
      done();
      return;
    }
    socket.cork();
    socket.write(messageHeader(chunk.length));
    socket.write(chunk, () => done());
    socket.uncork();
  }

  override _final(done: Done): void {
    this.#sendClose(closeCodes.normal);
    this.#socket.end();
    done();
  }

  #received(chunk: Buffer): void {
    if (this.#inputEnded || this.destroyed) return;
    try {
      this.#reader.read(chunk);
    } catch (err) {
      if (!(err instanceof WebSocketError)) throw err;
      this.#sendClose(err.code);
      this.#endInput();
    }
  }

  /** A client that does not read its pongs gets no more of them, so that they do not pile up. */
  #pong(payload: Buffer): void {
    const socket = this.#socket;
    if (socket.writable && !socket.writableNeedDrain && !this.#closeSent) socket.write(pongFrame(payload));
  }

  #closeReceived(code: number | undefined): void {
    this.#sendClose(code);
    this.#endInput();
  }

  #endInput(): void {
    if (this.#inputEnded || this.destroyed) return;
    this.#inputEnded = true;
    this.push(null);
  }

  #sendClose(code: number | undefined): void {
    if (this.#closeSent || !this.#socket.writable) return;
    this.#closeSent = true;
    this.#socket.write(closeFrame(code));
  }
}
