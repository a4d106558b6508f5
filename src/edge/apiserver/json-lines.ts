// Cuts a byte stream into lines and bodies with a limit. Invariant: never more than `limitBytes` are held.
import { KubeletError } from '../../base/errors.ts';

function tooLarge(limitBytes: number): KubeletError {
  return new KubeletError('internal', 'TooLarge', `the answer is larger than ${limitBytes} bytes`);
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

/** Non-empty lines. What comes after the last line end is an unfinished one: the stream broke there, and it is dropped. */
export async function* readLines(
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<string> {
  let kept: Uint8Array[] = [];
  let keptBytes = 0;
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...kept, chunk.subarray(from, end)]).toString('utf8');
      kept = [];
      keptBytes = 0;
      from = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (from === chunk.length) continue;
    kept.push(chunk.subarray(from));
    keptBytes += chunk.length - from;
    if (keptBytes > limitBytes) throw tooLarge(limitBytes);
  }
}
