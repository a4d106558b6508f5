// Splits a byte stream into lines, or reads it whole. Invariant: at most `limitBytes` are buffered.
import { KubeletError } from '../../base/errors.ts';

function tooLarge(limitBytes: number): KubeletError {
  return new KubeletError('internal', 'TooLarge', `the response is larger than ${limitBytes} bytes`);
}

export async function readAll(body: AsyncIterable<Uint8Array>, limitBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limitBytes) throw tooLarge(limitBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Yields non-empty lines. An unterminated last line is dropped: the stream was cut there. */
export async function* readLines(
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<string> {
  let partial: Uint8Array[] = [];
  let partialBytes = 0;
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, end);
      const line = partial.length === 0 ? textOf(last) : Buffer.concat([...partial, last]).toString('utf8');
      partial = [];
      partialBytes = 0;
      from = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (from === chunk.length) continue;
    partial.push(chunk.subarray(from));
    partialBytes += chunk.length - from;
    if (partialBytes > limitBytes) throw tooLarge(limitBytes);
  }
}

/** Without a copy of the bytes. */
function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
}
