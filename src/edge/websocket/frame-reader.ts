// Parses the frames of a WebSocket client. Payloads of messages are passed on piece by piece as they arrive.
// Invariant: holds at most a frame's header and the payload of one control frame, whatever the length a client declares.
// Upstream: hybiFrameReader in golang.org/x/net/websocket. Reference: RFC 6455, section 5.

/** Status codes of close frames. */
export const closeCodes = {
  normal: 1000,
  endpointLeaves: 1001,
  protocolError: 1002,
  unsupported: 1003,
} as const;

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A client that violates the protocol. The connection must be closed with the code. */
export class WebSocketError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The position of a piece in its message. */
export interface MessagePart {
  readonly binary: boolean;
  /** The first piece of a message. */
  readonly first: boolean;
  /** The message is complete; the piece may be empty. */
  readonly last: boolean;
}

interface FrameHandler {
  data(piece: Buffer, part: MessagePart): void;
  ping(payload: Buffer): void;
  /** The code is undefined if the client sent none. No frame is read after it. */
  close(code: number | undefined): void;
}

/** Of control frames, by the RFC. */
const maxControlBytes = 125;
const maskBytes = 4;
const maxHeaderBytes = 14;

export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #header = Buffer.alloc(maxHeaderBytes);
  #headerBytes = 0;
  #headerWanted = 2;
  /** The opcode of the frame whose payload is being read; undefined between frames. */
  #opcode: number | undefined;
  #final = false;
  #left = 0;
  #maskAt = 0;
  readonly #mask = Buffer.alloc(maskBytes);
  #control: Buffer[] = [];
  /** The kind of the message that is being read. */
  #message: 'text' | 'binary' | undefined;
  #messageBegun = false;
  #closed = false;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Takes ownership of the chunk, which is unmasked in place. Throws a WebSocketError. */
  read(chunk: Buffer): void {
    let at = 0;
    while (!this.#closed && (at < chunk.length || (this.#opcode !== undefined && this.#left === 0))) {
      if (this.#opcode === undefined) {
        at += this.#readHeader(chunk, at);
        continue;
      }
      const end = Math.min(chunk.length, at + this.#left);
      this.#readPayload(this.#opcode, chunk.subarray(at, end));
      at = end;
    }
  }

  #readHeader(chunk: Buffer, from: number): number {
    const copied = chunk.copy(
      this.#header,
      this.#headerBytes,
      from,
      from + this.#headerWanted - this.#headerBytes,
    );
    this.#headerBytes += copied;
    if (this.#headerBytes < this.#headerWanted) return copied;
    if (this.#headerWanted === 2) {
      this.#checkStart();
      const extended = { 126: 2, 127: 8 }[this.#lengthByte] ?? 0;
      this.#headerWanted = 2 + extended + maskBytes;
      return copied;
    }
    this.#beginPayload();
    return copied;
  }

  get #lengthByte(): number {
    return (this.#header[1] ?? 0) & 0x7f;
  }

  #checkStart(): void {
    const [start = 0, second = 0] = this.#header;
    const opcode = start & 0x0f;
    if ((start & 0x70) !== 0) throw violation('reserved bits are set');
    if ((second & 0x80) === 0) throw violation('the frame is not masked');
    if (opcode >= opcodes.close) {
      if (opcode > opcodes.pong) throw violation('unknown opcode');
      if ((start & 0x80) === 0 || this.#lengthByte > maxControlBytes)
        throw violation('invalid control frame');
    } else if (opcode > opcodes.binary) throw violation('unknown opcode');
    else if ((opcode === opcodes.continuation) === (this.#message === undefined)) {
      throw violation('a fragment is out of order');
    }
  }

  #beginPayload(): void {
    const header = this.#header;
    const [start = 0] = header;
    this.#opcode = start & 0x0f;
    this.#final = (start & 0x80) !== 0;
    this.#left = this.#payloadLength();
    header.copy(this.#mask, 0, this.#headerWanted - maskBytes, this.#headerWanted);
    this.#maskAt = 0;
    this.#headerBytes = 0;
    this.#headerWanted = 2;
    if (this.#opcode === opcodes.text || this.#opcode === opcodes.binary) {
      this.#message = this.#opcode === opcodes.text ? 'text' : 'binary';
      this.#messageBegun = false;
    }
  }

  #payloadLength(): number {
    if (this.#lengthByte === 126) return this.#header.readUInt16BE(2);
    if (this.#lengthByte !== 127) return this.#lengthByte;
    const length = this.#header.readBigUInt64BE(2);
    if (length > Number.MAX_SAFE_INTEGER) throw violation('the frame is too long');
    return Number(length);
  }

  #readPayload(opcode: number, piece: Buffer): void {
    this.#unmask(piece);
    this.#left -= piece.length;
    const ended = this.#left === 0;
    if (ended) this.#opcode = undefined;
    if (opcode >= opcodes.close) {
      this.#control.push(piece);
      if (ended) this.#endControl(opcode);
      return;
    }
    const last = ended && this.#final;
    const part = { binary: this.#message === 'binary', first: !this.#messageBegun, last };
    this.#messageBegun = true;
    if (last) this.#message = undefined;
    if (piece.length > 0 || last) this.#handler.data(piece, part);
    else if (part.first) this.#messageBegun = false;
  }

  #endControl(opcode: number): void {
    const payload = Buffer.concat(this.#control);
    this.#control = [];
    if (opcode === opcodes.ping) this.#handler.ping(payload);
    if (opcode !== opcodes.close) return;
    this.#closed = true;
    if (payload.length === 1) throw violation('the close code is incomplete');
    this.#handler.close(payload.length === 0 ? undefined : payload.readUInt16BE(0));
  }

  #unmask(piece: Buffer): void {
    const mask = this.#mask;
    let at = this.#maskAt;
    for (let index = 0; index < piece.length; index++) {
      piece[index] = (piece[index] ?? 0) ^ (mask[at & 3] ?? 0);
      at++;
    }
    this.#maskAt = at & 3;
  }
}

function violation(message: string): WebSocketError {
  return new WebSocketError(closeCodes.protocolError, message);
}
