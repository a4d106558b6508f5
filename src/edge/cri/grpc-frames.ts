// gRPC's messages on a stream of bytes: a flag for compression, which nobody here asks for, four bytes of length, the message.
// Invariants: a message is given out whole, in order, and as memory that is not written to again; one that is larger than
// the limit fails before it is gathered.
import { GrpcError } from './grpc-error.ts';

/** Requests and answers of up to 16 MiB, the limit that upstream and containerd have. */
export const maxMessageBytes = 16 * 1024 * 1024;

export const headerBytes = 5;

export function frame(message: Uint8Array): Buffer {
  if (message.length > maxMessageBytes)
    throw new GrpcError(
      'RESOURCE_EXHAUSTED',
      `Attempted to send message with a size larger than ${maxMessageBytes}`,
    );
  const framed = Buffer.allocUnsafe(headerBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, headerBytes);
  return framed;
}

/** What a header says of the message after it. */
export function messageLength(header: Buffer): number {
  if (header[0] !== 0) throw new GrpcError('INTERNAL', 'Received a compressed message that nobody asked for');
  const length = header.readUInt32BE(1);
  if (length > maxMessageBytes)
    throw new GrpcError(
      'RESOURCE_EXHAUSTED',
      `Received message larger than max (${length} vs ${maxMessageBytes})`,
    );
  return length;
}

export class FrameReader {
  #held: Buffer[] = [];
  #length = 0;

  /** The messages that are complete with this chunk. */
  push(chunk: Buffer): readonly Buffer[] {
    this.#held.push(chunk);
    this.#length += chunk.length;
    const messages: Buffer[] = [];
    for (;;) {
      const needed = this.#needed();
      if (needed === undefined || this.#length < needed) return messages;
      messages.push(this.#take(needed).subarray(headerBytes));
    }
  }

  /** Whether the stream may end here. */
  get isWhole(): boolean {
    return this.#length === 0;
  }

  /** Bytes of the next message with its header; undefined until the header is there. */
  #needed(): number | undefined {
    if (this.#length < headerBytes) return undefined;
    if ((this.#held[0]?.length ?? 0) < headerBytes) this.#held = [Buffer.concat(this.#held)];
    const [first] = this.#held;
    return first === undefined ? undefined : headerBytes + messageLength(first);
  }

  #take(length: number): Buffer {
    const all =
      this.#held.length === 1 && this.#held[0] !== undefined ? this.#held[0] : Buffer.concat(this.#held);
    const rest = all.subarray(length);
    this.#held = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    return all.subarray(0, length);
  }
}
