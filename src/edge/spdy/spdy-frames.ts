// Encodes and parses the frames of SPDY/3 that a client of a streaming server needs.
// Invariant: the reader holds at most a frame's header and the first bytes of a control frame.
// Upstream: moby/spdystream/spdy. Reference: the SPDY protocol, draft 3.

const version = 0x8003;
const types = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, end: 7 } as const;
const finFlag = 1;
/** CANCEL. */
const cancelStatus = 5;
const headerBytes = 8;
/** No control frame that is acted upon has more. */
const controlBytes = 8;

/**
 * The start of the header compression: deflate with SPDY's dictionary, which is named by its checksum. The blocks that follow are
 * stored, so that the dictionary itself is not needed.
 */
const compressionStart = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);
/** An empty stored block: the decompressor passes on everything before it. */
const flushBlock = Buffer.from([0, 0, 0, 0xff, 0xff]);

/** A SYN_STREAM frame. The first one of a connection starts its compression. */
export function synStreamFrame(
  id: number,
  headers: Readonly<Record<string, string>>,
  isFirst: boolean,
): Buffer {
  const start = Buffer.alloc(10);
  start.writeUInt32BE(id);
  const block = headerBlock(headers);
  const stored = Buffer.alloc(5);
  stored.writeUInt16LE(block.length, 1);
  stored.writeUInt16LE(~block.length & 0xffff, 3);
  const compression = isFirst ? [compressionStart] : [];
  return controlFrame(types.synStream, Buffer.concat([start, ...compression, stored, block, flushBlock]));
}

export function resetFrame(id: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(id);
  payload.writeUInt32BE(cancelStatus, 4);
  return controlFrame(types.rstStream, payload);
}

export function pingFrame(id: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(id);
  return controlFrame(types.ping, payload);
}

/** GOAWAY: no stream follows. */
export function endFrame(): Buffer {
  return controlFrame(types.end, Buffer.alloc(8));
}

/** The header of a data frame of `length` bytes, at most 2^24 - 1, that follow. */
export function dataHeader(id: number, length: number, fin: boolean): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32BE(id);
  header.writeUInt32BE(((fin ? finFlag : 0) << 24) | length, 4);
  return header;
}

function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers);
  const parts = [uint32(entries.length)];
  for (const text of entries.flat()) parts.push(uint32(Buffer.byteLength(text)), Buffer.from(text));
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function controlFrame(type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(version);
  header.writeUInt16BE(type, 2);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

interface SpdyHandler {
  /** A piece of a stream's data. */
  data(id: number, piece: Buffer): void;
  /** The server has finished (FIN) or reset its side of the stream. */
  ended(id: number, how: 'finished' | 'reset'): void;
  replied(id: number): void;
  ping(id: number): void;
}

interface Frame {
  /** Undefined: a data frame. */
  readonly type: number | undefined;
  readonly id: number;
  readonly fin: boolean;
}

export class SpdyReader {
  readonly #handler: SpdyHandler;
  readonly #header = Buffer.alloc(headerBytes);
  #headerRead = 0;
  #frame: Frame | undefined;
  #left = 0;
  readonly #control = Buffer.alloc(controlBytes);
  #controlRead = 0;

  constructor(handler: SpdyHandler) {
    this.#handler = handler;
  }

  /** Throws an Error if the bytes are not SPDY/3. */
  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length || (this.#frame !== undefined && this.#left === 0)) {
      if (this.#frame === undefined) {
        const copied = chunk.copy(this.#header, this.#headerRead, at);
        this.#headerRead += copied;
        at += copied;
        if (this.#headerRead === headerBytes) this.#begin();
        continue;
      }
      const end = Math.min(chunk.length, at + this.#left);
      this.#payload(this.#frame, chunk.subarray(at, end));
      at = end;
    }
  }

  #begin(): void {
    const header = this.#header;
    this.#headerRead = 0;
    this.#controlRead = 0;
    this.#left = header.readUInt32BE(4) & 0xffffff;
    const fin = ((header[4] ?? 0) & finFlag) !== 0;
    if (((header[0] ?? 0) & 0x80) === 0) {
      this.#frame = { type: undefined, id: header.readUInt32BE(0), fin };
      return;
    }
    if (header.readUInt16BE(0) !== version) throw new Error('unsupported SPDY version');
    this.#frame = { type: header.readUInt16BE(2), id: 0, fin };
  }

  #payload(frame: Frame, piece: Buffer): void {
    this.#left -= piece.length;
    if (this.#left === 0) this.#frame = undefined;
    if (frame.type !== undefined) {
      this.#controlRead += piece.copy(this.#control, this.#controlRead);
      if (this.#left === 0) this.#endControl(frame);
      return;
    }
    if (piece.length > 0) this.#handler.data(frame.id, piece);
    if (this.#left === 0 && frame.fin) this.#handler.ended(frame.id, 'finished');
  }

  #endControl({ fin, type }: Frame): void {
    const handler = this.#handler;
    const id = this.#control.readUInt32BE(0) & 0x7fffffff;
    const isComplete = this.#controlRead >= 4;
    if (!isComplete) return;
    if (type === types.ping) handler.ping(this.#control.readUInt32BE(0));
    if (type === types.rstStream) handler.ended(id, 'reset');
    if (type !== types.synReply) return;
    handler.replied(id);
    if (fin) handler.ended(id, 'finished');
  }
}
