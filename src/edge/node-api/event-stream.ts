// Decodes server-sent events (text/event-stream) from chunks. Upstream: none; the format is of the WHATWG's HTML standard.
// Invariant: an event has at most 64 MiB; the work is linear in the bytes.
import { KubeletError } from '../../base/errors.ts';

export interface ServerSentEvent {
  readonly name: string;
  readonly data: string;
}

const maxEventBytes = 64 * 1024 * 1024;
const newline = 0x0a;

export async function* serverSentEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new EventDecoder();
  for await (const chunk of chunks) yield* decoder.push(chunk);
}

class EventDecoder {
  /** The pieces of the incomplete line. */
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #name = '';
  #data: string[] = [];

  *push(chunk: Uint8Array): Generator<ServerSentEvent> {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      const event = this.#line(Buffer.concat(this.#pieces).toString('utf8').replace(/\r$/, ''));
      this.#pieces = [];
      if (event !== undefined) yield event;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#bytes += piece.length;
    if (this.#bytes > maxEventBytes)
      throw new KubeletError('invalid', 'TooLarge', 'an event of the kubelet is larger than 64 MiB');
    this.#pieces.push(piece);
  }

  /** The event that an empty line ends. */
  #line(line: string): ServerSentEvent | undefined {
    if (line !== '') {
      const colon = line.indexOf(':');
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') this.#name = value;
      if (field === 'data') this.#data.push(value);
      return undefined;
    }
    const event = { name: this.#name || 'message', data: this.#data.join('\n') };
    const isEmpty = this.#data.length === 0;
    this.#name = '';
    this.#data = [];
    this.#bytes = 0;
    return isEmpty ? undefined : event;
  }
}
