// Finds where the last lines of a log begin, reading it backwards in blocks. Upstream: findTailLineStartIndex in
// staging/src/k8s.io/cri-client/pkg/logs. Invariant: the start is right after the end of a complete line, never within a line that
// the runtime split.
import { type LineKind, LineReader, lineKind, maxHeaderBytes } from './log-line.ts';

const newline = 0x0a;

/**
 * Counts line ends from the end of the log back to where `lines` lines begin, across the files of a rotated log, newest first.
 *
 * differs from upstream: there every entry of the file counts as a line, so that --tail=1 shows the last 16 KiB of a long line.
 */
export class TailCount {
  readonly #reader = new LineReader();
  #remainingEnds: number;
  #sawAny = false;

  constructor(lines: number) {
    this.#remainingEnds = lines;
  }

  /** The number of line ends still to pass. */
  get remainingEnds(): number {
    return this.#remainingEnds;
  }

  /** Passes the next entry towards the beginning. True if the lines begin right after it. */
  pass(head: Buffer): boolean {
    const kind = lineKind(this.#reader, head);
    if (kind === 'none') return false;
    if (!this.#sawAny) {
      this.#sawAny = true;
      // The end of the last line is passed as well, unless that line is incomplete.
      if (kind === 'complete') this.#remainingEnds += 1;
    }
    if (kind === 'complete') this.#remainingEnds -= 1;
    return this.#remainingEnds === 0;
  }

  /** The same for a file that was read forwards, with `ends` line ends, whose last entry is of kind `last`. */
  passFile(ends: number, last: LineKind): { readonly afterEnd: number } | undefined {
    if (last === 'none') return undefined;
    if (!this.#sawAny) {
      this.#sawAny = true;
      if (last === 'complete') this.#remainingEnds += 1;
    }
    if (ends < this.#remainingEnds) {
      this.#remainingEnds -= ends;
      return undefined;
    }
    const afterEnd = ends - this.#remainingEnds + 1;
    this.#remainingEnds = 0;
    return { afterEnd };
  }
}

/** Scans a file's blocks from last to first. An entry without a newline at the end of the file does not count. */
export class BackwardScan {
  readonly #count: TailCount;
  /** The first bytes after the block. */
  #following: Buffer = Buffer.alloc(0);
  /** The end of the entry whose beginning is searched; undefined before the first newline. */
  #entryEnd: number | undefined;

  constructor(count: TailCount) {
    this.#count = count;
  }

  /** `at`: the block's offset in the file. Returns where the lines begin, once known. */
  block(block: Buffer, at: number): number | undefined {
    for (let end = block.length; ; ) {
      const found = end === 0 ? -1 : block.lastIndexOf(newline, end - 1);
      if (found < 0) break;
      const start = this.#entry(block, at, found + 1);
      if (start !== undefined) return start;
      this.#entryEnd = at + found + 1;
      end = found;
    }
    if (at === 0) return this.#entry(block, at, 0);
    const head = block.subarray(0, maxHeaderBytes);
    this.#following =
      head.length < maxHeaderBytes
        ? Buffer.concat([head, this.#following]).subarray(0, maxHeaderBytes)
        : Buffer.from(head);
    return undefined;
  }

  /** Passes the entry that begins at `from` of the block. */
  #entry(block: Buffer, at: number, from: number): number | undefined {
    const end = this.#entryEnd;
    // Empty lines are not entries, and there may be many.
    if (end === undefined || end - (at + from) <= 1) return undefined;
    const here = block.subarray(from, Math.min(from + maxHeaderBytes, end - at));
    const missing = Math.min(maxHeaderBytes, end - at - from) - here.length;
    const head = missing > 0 ? Buffer.concat([here, this.#following.subarray(0, missing)]) : here;
    return this.#count.pass(head) ? end : undefined;
  }
}

/** Counts line ends in a file that can only be read forwards. */
export class ForwardScan {
  readonly #reader = new LineReader();
  #head: Buffer = Buffer.alloc(0);
  #at = 0;
  ends = 0;
  last: LineKind = 'none';

  /** Returns the end of the entry with the `stopAfter`-th line end, once known. */
  push(bytes: Buffer, stopAfter = Number.POSITIVE_INFINITY): number | undefined {
    for (let from = 0; from < bytes.length; ) {
      const found = bytes.indexOf(newline, from);
      const until = found < 0 ? bytes.length : found + 1;
      // Empty lines are not entries, and there may be many.
      if (found === from && this.#head.length === 0) {
        from = until;
        continue;
      }
      if (this.#head.length < maxHeaderBytes) {
        const more = bytes.subarray(from, Math.min(until, from + maxHeaderBytes - this.#head.length));
        this.#head = this.#head.length === 0 ? more : Buffer.concat([this.#head, more]);
      }
      if (found < 0) {
        this.#head = Buffer.from(this.#head);
        break;
      }
      const kind = lineKind(this.#reader, this.#head);
      this.#head = Buffer.alloc(0);
      if (kind !== 'none') this.last = kind;
      if (kind === 'complete') this.ends += 1;
      from = until;
      if (this.ends >= stopAfter) return this.#at + from;
    }
    this.#at += bytes.length;
    return undefined;
  }
}
