// Collects the single message of a request. Invariants: at most twice the received bytes are held, in however many chunks they
// arrive; a message larger than the limit fails with its header.
import { RpcFailure } from '../../api/kubelet/rpc-service.ts';
import { headerBytes, messageLength } from '../grpc-client/grpc-frames.ts';

const firstBytes = 256;

export class RequestMessage {
  readonly #limitBytes: number;
  #buffer = Buffer.allocUnsafe(firstBytes);
  #length = 0;
  /** Including the header; undefined until that is complete. */
  #needed: number | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  push(chunk: Buffer): void {
    if (this.#needed !== undefined) {
      this.#append(chunk, this.#needed);
      return;
    }
    const rest = headerBytes - this.#length;
    this.#append(chunk.subarray(0, rest), headerBytes);
    if (this.#length < headerBytes) return;
    this.#needed = headerBytes + messageLength(this.#buffer, this.#limitBytes);
    this.#append(chunk.subarray(rest), this.#needed);
  }

  /** The message, after the end of the request. */
  take(): Buffer {
    if (this.#needed === undefined || this.#length < this.#needed)
      throw new RpcFailure('INTERNAL', 'the request ended before its message was complete');
    return this.#buffer.subarray(headerBytes, this.#needed);
  }

  #append(chunk: Buffer, limitBytes: number): void {
    const length = this.#length + chunk.length;
    if (length > limitBytes) throw new RpcFailure('INTERNAL', 'the request has more than one message');
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}
