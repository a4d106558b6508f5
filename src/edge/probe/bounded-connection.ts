// A TCP connection that limits how many bytes are read. For HTTP/2 sessions, which otherwise read the socket directly: frames
// that need no answer (unknown types, pings, priorities) have no limit there.
// Invariant: beyond the limit the connection is destroyed, and the session with it.
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { KubeletError } from '../../base/errors.ts';

/** A read of a single byte costs as much CPU as a read of many. */
const minReadCostBytes = 32;

export class BoundedConnection extends Duplex {
  readonly #socket: Socket;
  #leftBytes: number;

  constructor(options: { readonly host: string; readonly port: number; readonly totalBytes: number }) {
    super();
    this.#leftBytes = options.totalBytes;
    this.#socket = connect({ host: options.host, port: options.port, noDelay: true });
    this.#socket
      .on('data', (chunk) => this.#take(chunk, options.totalBytes))
      .on('end', () => this.push(null))
      .on('error', (err) => this.destroy(err))
      .on('close', () => this.destroy());
  }

  #take(chunk: Buffer, totalBytes: number): void {
    this.#leftBytes -= Math.max(chunk.length, minReadCostBytes);
    if (this.#leftBytes < 0)
      this.destroy(
        new KubeletError('invalid', 'AnswerTooLarge', `the server sent more than ${totalBytes} bytes`),
      );
    else if (!this.push(chunk)) this.#socket.pause();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (err?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: (err?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    this.#socket.destroy();
    done(err);
  }
}
