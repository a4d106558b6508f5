// gRPC's framing of messages: a compression flag (compression is never requested here), four bytes of length, the message.
// Invariants: messages come out whole and in order, in memory that is not written to again; one larger than the limit fails
// before it is buffered.
import { GrpcError } from './grpc-error.ts';

/** 16 MiB for requests and, by default, responses: the limit of upstream and containerd for the CRI. */
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

/** The length of the message after this header. */
export function messageLength(header: Buffer, limitBytes = maxMessageBytes): number {
  if (header[0] !== 0)
    throw new GrpcError('INTERNAL', 'Received a compressed message without having requested compression');
  const length = header.readUInt32BE(1);
  if (length > limitBytes)
    throw new GrpcError(
      'RESOURCE_EXHAUSTED',
      `Received message larger than max (${length} vs ${limitBytes})`,
    );
  return length;
}

export class FrameReader {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(limitBytes = maxMessageBytes) {
    this.#limitBytes = limitBytes;
  }

  /** The messages that are complete with this chunk. */
  push(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
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

  /** Length of the next message including its header; undefined until the header is complete. */
  #needed(): number | undefined {
    if (this.#length < headerBytes) return undefined;
    if ((this.#chunks[0]?.length ?? 0) < headerBytes) this.#chunks = [Buffer.concat(this.#chunks)];
    const [first] = this.#chunks;
    return first === undefined ? undefined : headerBytes + messageLength(first, this.#limitBytes);
  }

  #take(length: number): Buffer {
    const all =
      this.#chunks.length === 1 && this.#chunks[0] !== undefined
        ? this.#chunks[0]
        : Buffer.concat(this.#chunks);
    const rest = all.subarray(length);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    return all.subarray(0, length);
  }
}
