// The time at which a log file begins. Invariant: a bounded part of the file is read.
import type { LogFile } from './log-files.ts';
import { LineReader } from './log-line.ts';
import type { Instant } from './timestamp.ts';

/** How much of a file is searched for its first line. */
const beginningBytes = 8 * 1024;

/** The time of the first valid line near the beginning; undefined if there is none. */
export async function firstTime(file: LogFile): Promise<Instant | undefined> {
  const buffer = Buffer.allocUnsafe(beginningBytes);
  const length = await readFully(file, buffer, 0);
  const line = new LineReader();
  for (let from = 0; from < length; ) {
    const end = buffer.subarray(0, length).indexOf(0x0a, from);
    const to = end < 0 ? length : end + 1;
    if (line.read(buffer, from, to)) return { seconds: line.time.seconds, nanos: line.time.nanos };
    from = to;
  }
  return undefined;
}

export function isAfter(a: Instant, b: Instant): boolean {
  return a.seconds > b.seconds || (a.seconds === b.seconds && a.nanos > b.nanos);
}

export async function readFully(file: LogFile, buffer: Buffer, at: number): Promise<number> {
  let length = 0;
  while (length < buffer.length) {
    const read = await file.read(buffer.subarray(length), at + length);
    if (read === 0) break;
    length += read;
  }
  return length;
}
