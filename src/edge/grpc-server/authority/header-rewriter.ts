// Rewrites the header blocks that a client sends so that every request has the authority `localhost`. Node's HTTP/2 server
// resets requests whose :authority is empty, absent or contains a slash, such as the path of the socket, which older
// versions of grpc-go send; the header means nothing on a unix socket.
// Invariants: all other frames pass unchanged and in order; at most one header block is held, of bounded size; what is invalid
// stays invalid, so that Node rejects it.
import { HpackDecoder, InvalidBlock } from './hpack-decoder.ts';
import type { HeaderField } from './static-table.ts';

const prefaceBytes = 24;
const frameHeaderBytes = 9;
/** HTTP/2's default, which the server never changes. */
const maxFrameBytes = 16 * 1024;
/** Of the decoded fields of a block; Node accepts fewer. */
const maxFieldBytes = 64 * 1024;
/** nghttp2 accepts no more either. */
const maxContinuations = 8;
const headers = 1;
const continuation = 9;
const endHeaders = 0x4;
const padded = 0x8;
const priority = 0x20;
const priorityBytes = 5;

const authority: HeaderField = [':authority', 'localhost'];
/** An index of zero is invalid. */
const invalidBlock = Buffer.from([0x80]);
const none = Buffer.alloc(0);

interface Block {
  /** Flags of the HEADERS frame. */
  readonly flags: number;
  readonly streamId: number;
  /** The priority, if there is one. */
  readonly prefix: Buffer;
  parts: Buffer[];
  continuations: number;
}

export class HeaderRewriter {
  readonly #decoder = new HpackDecoder(maxFieldBytes);
  /** Bytes before they are known to be complete: of a frame's header, or of a frame with headers. */
  #held: Buffer = none;
  /** Bytes that pass unchanged before the next frame. */
  #pass = prefaceBytes;
  #block: Block | undefined;
  /** After an error of the connection, which Node reports: everything passes unchanged. */
  #isBroken = false;

  /** What the server receives in place of this chunk. */
  push(chunk: Buffer): readonly Buffer[] {
    if (this.#isBroken) return [chunk];
    const out: Buffer[] = [];
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = none;
    while (rest.length > 0 && !this.#isBroken) {
      const used = this.#take(rest, out);
      if (used === 0) {
        this.#held = rest;
        return out;
      }
      rest = rest.subarray(used);
    }
    if (rest.length > 0) out.push(rest);
    return out;
  }

  /** Returns how many bytes it has taken; zero: more are needed. */
  #take(rest: Buffer, out: Buffer[]): number {
    if (this.#pass > 0) {
      const used = Math.min(this.#pass, rest.length);
      this.#pass -= used;
      out.push(rest.subarray(0, used));
      return used;
    }
    if (rest.length < frameHeaderBytes) return 0;
    const length = rest.readUIntBE(0, 3);
    const type = rest[3];
    const isHeaders = type === headers || type === continuation;
    // HEADERS, then only CONTINUATION of the same block.
    const isExpected =
      this.#block === undefined
        ? type !== continuation
        : type === continuation && this.#block.streamId === rest.readUInt32BE(5);
    if (!isExpected || (isHeaders && length > maxFrameBytes)) return this.#fail(rest, out);
    if (!isHeaders) {
      this.#pass = frameHeaderBytes + length;
      return this.#take(rest, out);
    }
    if (rest.length < frameHeaderBytes + length) return 0;
    const frame = rest.subarray(0, frameHeaderBytes + length);
    return this.#takeHeaders(frame, out) ? frame.length : this.#fail(rest, out);
  }

  #takeHeaders(frame: Buffer, out: Buffer[]): boolean {
    const flags = frame[4] ?? 0;
    const payload = frame.subarray(frameHeaderBytes);
    if (this.#block === undefined) {
      const block = blockOf(flags, frame.readUInt32BE(5), payload);
      if (block === undefined) return false;
      this.#block = block;
    } else {
      this.#block.continuations += 1;
      this.#block.parts.push(Buffer.from(payload));
      if (this.#block.continuations > maxContinuations) return false;
    }
    if ((flags & endHeaders) === 0) return true;
    const { prefix, parts, streamId, flags: firstFlags } = this.#block;
    this.#block = undefined;
    const rewritten = this.#rewrite(Buffer.concat(parts));
    out.push(...framesOf(firstFlags & ~(padded | endHeaders), streamId, prefix, rewritten));
    this.#isBroken = rewritten === invalidBlock;
    return true;
  }

  #rewrite(block: Buffer): Buffer {
    try {
      // Without fields the request is malformed, so that it is reset.
      const fields = this.#decoder.decode(block) ?? [];
      // Trailers have no method.
      const isRequest = fields.some(([name]) => name === ':method');
      if (!isRequest) return Buffer.concat(fields.map(literal));
      const others = fields.filter(([name]) => name !== ':authority');
      return Buffer.concat([authority, ...others].map(literal));
    } catch (err) {
      if (err instanceof InvalidBlock) return invalidBlock;
      throw err;
    }
  }

  /** A violation of the protocol. What was held back passes, too, so that the server sees the violation. */
  #fail(rest: Buffer, out: Buffer[]): number {
    this.#isBroken = true;
    const block = this.#block;
    this.#block = undefined;
    // A block that is not complete before the violation is a violation of its own.
    if (block !== undefined) out.push(...framesOf(0, block.streamId, none, invalidBlock));
    out.push(rest);
    return rest.length;
  }
}

/** Undefined if the padding or the priority does not fit. */
function blockOf(flags: number, streamId: number, payload: Buffer): Block | undefined {
  const paddingBytes = (flags & padded) === 0 ? 0 : 1 + (payload[0] ?? payload.length);
  const start = (flags & padded) === 0 ? 0 : 1;
  const end = payload.length - (paddingBytes - start);
  const from = start + ((flags & priority) === 0 ? 0 : priorityBytes);
  if (from > end) return undefined;
  return {
    flags,
    streamId,
    prefix: Buffer.from(payload.subarray(start, from)),
    parts: [Buffer.from(payload.subarray(from, end))],
    continuations: 0,
  };
}

/** A literal field that neither side adds to its table. */
function literal([name, value]: HeaderField): Buffer {
  const nameBytes = Buffer.from(name, 'latin1');
  const valueBytes = Buffer.from(value, 'latin1');
  return Buffer.concat([
    Buffer.from([0]),
    lengthBytes(nameBytes.length),
    nameBytes,
    lengthBytes(valueBytes.length),
    valueBytes,
  ]);
}

function lengthBytes(length: number): Buffer {
  const mask = 0x7f;
  if (length < mask) return Buffer.from([length]);
  const bytes = [mask];
  let rest = length - mask;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function framesOf(flags: number, streamId: number, prefix: Buffer, block: Buffer): Buffer[] {
  const payload = Buffer.concat([prefix, block]);
  const frames: Buffer[] = [];
  for (let at = 0; at === 0 || at < payload.length; at += maxFrameBytes) {
    const part = payload.subarray(at, at + maxFrameBytes);
    const last = at + maxFrameBytes >= payload.length ? endHeaders : 0;
    const head = Buffer.alloc(frameHeaderBytes);
    head.writeUIntBE(part.length, 0, 3);
    head.writeUInt8(at === 0 ? headers : continuation, 3);
    head.writeUInt8((at === 0 ? flags : 0) | last, 4);
    head.writeUInt32BE(streamId, 5);
    frames.push(head, part);
  }
  return frames;
}
