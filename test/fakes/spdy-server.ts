// A SPDY/3.1 streaming server that a test scripts: accepts streams and gives them to the test by their type.
// Upstream: cri-streaming/pkg/streaming with moby/spdystream, whose rules it keeps: data before the reply is dropped, a closed
// connection resets its streams and sends GOAWAY.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { constants, inflateRawSync } from 'node:zlib';

interface ServerStream {
  readonly id: number;
  readonly headers: Readonly<Record<string, string>>;
  received: Buffer[];
  ended: boolean;
}

export class SpdySession {
  readonly socket: Socket;
  readonly request: IncomingMessage;
  readonly streams = new Map<string, ServerStream>();
  /** Frame types of control frames received, in order. */
  readonly control: number[] = [];
  #buffer: Buffer = Buffer.alloc(0);

  constructor(request: IncomingMessage, socket: Socket, head: Buffer) {
    this.request = request;
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.#feed(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
    if (head.length > 0) this.#feed(head);
  }

  async untilStreams(...types: readonly string[]): Promise<void> {
    while (!types.every((type) => this.streams.has(type))) await new Promise((done) => setTimeout(done, 2));
  }

  /** What the client has sent on a stream. */
  received(type: string): string {
    return Buffer.concat(this.streams.get(type)?.received ?? []).toString();
  }

  write(type: string, data: string | Buffer, flags = 0): boolean {
    const bytes = Buffer.from(data);
    const header = Buffer.alloc(8);
    header.writeUInt32BE(this.#id(type));
    header.writeUInt32BE((flags << 24) | bytes.length, 4);
    this.socket.write(header);
    return this.socket.write(bytes);
  }

  end(type: string): void {
    this.write(type, '', 1);
  }

  ping(id: number): void {
    this.#control(6, [id]);
  }

  /** As the servers of runtimes end a session: all streams are reset. */
  close(): void {
    for (const { id } of this.streams.values()) this.#control(3, [id, 5]);
    this.#control(7, [0, 0]);
    this.socket.end();
  }

  #id(type: string): number {
    const stream = this.streams.get(type);
    if (stream === undefined) throw new Error(`no stream ${type}`);
    return stream.id;
  }

  #control(type: number, words: readonly number[], more = Buffer.alloc(0)): void {
    const frame = Buffer.alloc(8 + words.length * 4);
    frame.writeUInt16BE(0x8003);
    frame.writeUInt16BE(type, 2);
    frame.writeUInt32BE(words.length * 4 + more.length, 4);
    for (const [at, word] of words.entries()) frame.writeUInt32BE(word, 8 + at * 4);
    if (!this.socket.destroyed) this.socket.write(Buffer.concat([frame, more]));
  }

  #feed(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    for (;;) {
      if (this.#buffer.length < 8) return;
      const length = this.#buffer.readUInt32BE(4) & 0xffffff;
      if (this.#buffer.length < 8 + length) return;
      const header = this.#buffer.subarray(0, 8);
      const payload = this.#buffer.subarray(8, 8 + length);
      this.#buffer = this.#buffer.subarray(8 + length);
      this.#frame(header, payload);
    }
  }

  #frame(header: Buffer, payload: Buffer): void {
    if (((header[0] ?? 0) & 0x80) === 0) {
      const id = header.readUInt32BE(0);
      const stream = [...this.streams.values()].find((each) => each.id === id);
      if (payload.length > 0) stream?.received.push(Buffer.from(payload));
      if (stream !== undefined && ((header[4] ?? 0) & 1) !== 0) stream.ended = true;
      return;
    }
    const type = header.readUInt16BE(2);
    this.control.push(type);
    if (type !== 1) return;
    const id = payload.readUInt32BE(0);
    const headers = parseHeaders(payload.subarray(10), id === 1);
    this.streams.set(headers['streamtype'] ?? '', { id, headers, received: [], ended: false });
    // A reply without headers, as spdystream compresses it.
    this.#control(2, [id], Buffer.from('78bbe3c6a7c2626060600000000000ffff', 'hex'));
  }
}

/** Decompresses a header block; its start names the dictionary, which stored blocks do not need. */
function parseHeaders(block: Buffer, isFirst: boolean): Record<string, string> {
  if (isFirst && block.readUInt32BE(2) !== 0xe3c6a7c2) throw new Error('unknown dictionary');
  const flush = { finishFlush: constants.Z_SYNC_FLUSH };
  const plain = inflateRawSync(block.subarray(isFirst ? 6 : 0), flush);
  const headers: Record<string, string> = {};
  let at = 4;
  const text = (): string => {
    const length = plain.readUInt32BE(at);
    at += 4 + length;
    return plain.subarray(at - length, at).toString();
  };
  for (let left = plain.readUInt32BE(0); left > 0; left--) {
    const name = text();
    headers[name] = text();
  }
  return headers;
}

export interface SpdyServer {
  readonly url: string;
  /** Resolves with the next session. */
  next(): Promise<SpdySession>;
  close(): Promise<void>;
}

/** Accepts upgrade requests; `protocol` is chosen whatever the client offers. */
export async function serveSpdy(protocol = 'v4.channel.k8s.io'): Promise<SpdyServer> {
  const server = createServer();
  const sessions: SpdySession[] = [];
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (request, socket: Socket, head) => {
    socket.allowHalfOpen = true;
    const version = protocol === '' ? '' : `X-Stream-Protocol-Version: ${protocol}\r\n`;
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${version}\r\n`,
    );
    sessions.push(new SpdySession(request, socket, head));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/exec/token`,
    next: async () => {
      for (;;) {
        const session = sessions.shift();
        if (session !== undefined) return session;
        await new Promise((done) => setTimeout(done, 2));
      }
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
