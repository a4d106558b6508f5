// The last lines of a container's log, from the raw end of its file. Pure.
// Invariants: at most `count` lines of at most 1 KiB each, whatever the container wrote; the work is linear in the raw bytes.
import { truncateText } from './end-record.ts';

/** Enough for 20 lines of ordinary length. Runtimes split lines at 16 KiB. */
export const rawTailBytes = 64 * 1024;

interface RawTail {
  readonly bytes: Uint8Array;
  /** Whether `bytes` is the whole file. */
  readonly whole: boolean;
}

export function lastLines({ bytes, whole }: RawTail, count: number): readonly string[] {
  const raw = new TextDecoder().decode(bytes).split('\n');
  if (raw.at(-1) === '') raw.pop();
  // The first line is cut off, unless it is all there is.
  if (!whole && raw.length > 1) raw.shift();
  const lines: string[] = [];
  let open = false;
  for (const { isPartial, text } of raw.map(contentOf)) {
    if (open) lines.push(`${lines.pop() ?? ''}${text}`);
    else lines.push(text);
    open = isPartial;
  }
  return lines.slice(-count).map((line) => truncateText(line));
}

/** `<time> stdout F text`, with `P` for a part of a line. Anything else is taken as it is. */
function contentOf(line: string): { readonly text: string; readonly isPartial: boolean } {
  const [time = '', stream = '', tags = ''] = line.slice(0, 100).split(' ', 3);
  if (stream !== 'stdout' && stream !== 'stderr') return { text: line, isPartial: false };
  const text = line.slice(time.length + stream.length + tags.length + 3);
  return { text, isPartial: tags === 'P' || tags.startsWith('P:') };
}
