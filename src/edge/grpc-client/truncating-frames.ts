// Reads gRPC messages and truncates each top-level protobuf field while the message arrives. For ExecSync, whose output is
// as long as the runtime allows.
// Invariants: at most keepBytes of a field are buffered, whatever the message's length; the result decodes like the whole
// message except for the truncated fields; a message that is not protobuf, or too large, is an error.
import { GrpcError } from './grpc-error.ts';
import { headerBytes, messageLength } from './grpc-frames.ts';

/** ExecSync's response has three. */
const maxFields = 1_000;
const maxVarintBytes = 10;

type Step =
  | { readonly on: 'header' }
  | { readonly on: 'tag' }
  | { readonly on: 'varint' }
  | { readonly on: 'length' }
  | { readonly on: 'fixed'; readonly left: number }
  | { readonly on: 'field'; readonly keep: number; readonly left: number };

export class TruncatingFrameReader {
  readonly #keepBytes: number;
  #step: Step = { on: 'header' };
  /** Bytes read so far of a header or number. */
  #head: number[] = [];
  /** Bytes of the message still to come. */
  #left = 0;
  #fields = 0;
  #kept: Buffer[] = [];

  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
  }

  /** The messages that are complete with this chunk. */
  push(chunk: Buffer): readonly Buffer[] {
    const messages: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) {
      at += this.#read(chunk, at);
      if (this.#step.on !== 'header' && this.#left === 0) messages.push(this.#finish());
    }
    return messages;
  }

  /** Whether the stream may end here. */
  get isWhole(): boolean {
    return this.#step.on === 'header' && this.#head.length === 0;
  }

  /** Returns the number of bytes consumed, at least one. */
  #read(chunk: Buffer, at: number): number {
    const step = this.#step;
    if (step.on === 'header') {
      this.#head.push(chunk[at] ?? 0);
      if (this.#head.length === headerBytes) this.#begin(messageLength(Buffer.from(this.#head)));
      return 1;
    }
    if (step.on === 'fixed' || step.on === 'field') return this.#skip(step, chunk, at);
    this.#left -= 1;
    this.#number(step.on, chunk[at] ?? 0);
    return 1;
  }

  #begin(length: number): void {
    this.#head = [];
    this.#left = length;
    this.#fields = 0;
    this.#kept = [];
    this.#step = { on: 'tag' };
  }

  #finish(): Buffer {
    if (this.#step.on !== 'tag' || this.#head.length > 0) throw malformed();
    const message = Buffer.concat(this.#kept);
    this.#kept = [];
    this.#step = { on: 'header' };
    return message;
  }

  /** One byte of a tag, a number or a field's length. */
  #number(on: 'tag' | 'varint' | 'length', byte: number): void {
    this.#head.push(byte);
    if (this.#head.length > maxVarintBytes) throw malformed();
    if (byte >= 0x80) return;
    const bytes = this.#head;
    this.#head = [];
    if (on === 'length') {
      const left = valueOf(bytes);
      if (left > this.#left) throw malformed();
      const keep = Math.min(left, this.#keepBytes);
      this.#kept.push(varint(keep));
      this.#step = left === 0 ? { on: 'tag' } : { on: 'field', keep, left };
      return;
    }
    this.#kept.push(Buffer.from(bytes));
    this.#step = on === 'tag' ? this.#stepAfter(bytes[0] ?? 0) : { on: 'tag' };
  }

  #stepAfter(tag: number): Step {
    this.#fields += 1;
    if (this.#fields > maxFields) throw malformed();
    switch (tag & 7) {
      case 0:
        return { on: 'varint' };
      case 1:
        return { on: 'fixed', left: 8 };
      case 2:
        return { on: 'length' };
      case 5:
        return { on: 'fixed', left: 4 };
      default:
        throw malformed();
    }
  }

  #skip(step: Extract<Step, { left: number }>, chunk: Buffer, at: number): number {
    const used = Math.min(step.left, chunk.length - at, this.#left);
    const left = step.left - used;
    this.#left -= used;
    const keep = Math.min(step.on === 'field' ? step.keep : used, used);
    // A copy: a slice would keep the network buffer alive.
    if (keep > 0) this.#kept.push(Buffer.from(chunk.subarray(at, at + keep)));
    if (left === 0) this.#step = { on: 'tag' };
    else this.#step = step.on === 'fixed' ? { on: 'fixed', left } : { ...step, keep: step.keep - keep, left };
    return used;
  }
}

/** Exact up to 2^53, far above any length. */
function valueOf(bytes: readonly number[]): number {
  return bytes.reduce((sum, byte, index) => sum + (byte & 0x7f) * 2 ** (7 * index), 0);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function malformed(): GrpcError {
  return new GrpcError('INTERNAL', 'Received a message that is not valid protobuf');
}
