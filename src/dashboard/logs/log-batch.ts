// One server-sent message with lines of a log, as JSON, one line of JSON per line of the log. Upstream: none.
// Invariant: bounded by maxBatchBytes and maxBatchLines; line breaks in data are escaped by JSON, so that a log cannot end a message.
import type { LogLine } from './log-text.ts';

export const maxBatchBytes = 64 * 1024;
const maxBatchLines = 500;
/** An encoded line is at most six times as long as this, and fits into a batch. */
const maxEncodedText = 10 * 1024;

export class LogBatch {
  readonly #parts: string[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  get isFull(): boolean {
    return this.#parts.length >= maxBatchLines;
  }

  /** False if the line does not fit any more. */
  add(container: number, line: LogLine): boolean {
    const encoded = encode(container, line);
    const bytes = Buffer.byteLength(encoded);
    if (this.#parts.length > 0 && this.#bytes + bytes > maxBatchBytes) return false;
    this.#parts.push(encoded);
    this.#bytes += bytes;
    return true;
  }

  /** `id`: what a client that reconnects sends as Last-Event-ID. */
  message(id: string): Uint8Array {
    return Buffer.from(`id: ${id}\n${this.#parts.join('')}\n`);
  }
}

function encode(c: number, { cut, text, time: t }: LogLine): string {
  const json = JSON.stringify(cut ? { c, t, x: text, cut } : { c, t, x: text });
  if (json.length <= maxBatchBytes - 16 && Buffer.byteLength(json) <= maxBatchBytes - 16)
    return `data: ${json}\n`;
  return `data: ${JSON.stringify({ c, t, x: text.slice(0, maxEncodedText), cut: true })}\n`;
}

export function eventMessage(event: string, data: unknown): Uint8Array {
  return Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
