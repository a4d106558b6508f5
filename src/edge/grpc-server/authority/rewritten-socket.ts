// A client's connection as Node's HTTP/2 server reads it: with rewritten header blocks.
// Invariants: nothing is read from the connection while the server does not read; the end, an error and a destruction of either
// side reach the other one.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { HeaderRewriter } from './header-rewriter.ts';

export class RewrittenSocket extends Duplex {
  readonly #socket: Socket;
  readonly #rewriter = new HeaderRewriter();

  constructor(socket: Socket) {
    super({ allowHalfOpen: true, emitClose: true });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      let hasRoom = true;
      for (const part of this.#rewriter.push(chunk)) hasRoom = this.push(part);
      if (!hasRoom) socket.pause();
    });
    socket.once('end', () => this.push(null));
    socket.once('error', (err) => this.destroy(err));
    socket.once('close', () => this.destroy());
    socket.pause();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (err?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: (err?: Error | null) => void): void {
    this.#socket.cork();
    for (const { chunk } of chunks.slice(0, -1)) this.#socket.write(chunk);
    this.#socket.write(chunks.at(-1)?.chunk ?? Buffer.alloc(0), done);
    this.#socket.uncork();
  }

  override _final(done: (err?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(err: Error | null, done: (err?: Error | null) => void): void {
    this.#socket.destroy();
    done(err);
  }
}
