// Where the last lines of a log begin, found by reading it backwards in blocks. Upstream: findTailLineStartIndex in
// staging/src/k8s.io/cri-client/pkg/logs. Invariant: the start is right after the end of a line as a reader sees lines, never
// in the middle of one that the runtime had to cut.
import { type LineKind, LineReader, lineKind, longestHeaderBytes } from './log-line.ts';

const newline = 0x0a;

/**
 * Counts the ends of lines from the end of the log back to where `lines` lines begin. Goes on over the files of a rotated log,
 * newest first.
 *
 * differs from upstream: there every entry of the file counts as a line, so that --tail=1 shows the last 16 KiB of a long one.
 */
export class TailCount {
  readonly #reader = new LineReader();
  #endsToSee: number;
  #sawAny = false;

  constructor(lines: number) {
    this.#endsToSee = lines;
  }

  /** How many ends of lines have still to be passed. */
  get endsToSee(): number {
    return this.#endsToSee;
  }

  /** The next entry towards the beginning. True when the lines begin right after it. */
  pass(head: Buffer): boolean {
    const kind = lineKind(this.#reader, head);
    if (kind === 'none') return false;
    if (!this.#sawAny) {
      this.#sawAny = true;
      // Where the last line has no end yet, its own end is not among those to be passed.
      if (kind === 'ends') this.#endsToSee += 1;
    }
    if (kind === 'ends') this.#endsToSee -= 1;
    return this.#endsToSee === 0;
  }

  /** The same for a file that was read forwards, with so many ends of lines, whose last entry is of this kind. */
  passFile(ends: number, last: LineKind): { readonly afterEnd: number } | undefined {
    if (last === 'none') return undefined;
    if (!this.#sawAny) {
      this.#sawAny = true;
      if (last === 'ends') this.#endsToSee += 1;
    }
    if (ends < this.#endsToSee) {
      this.#endsToSee -= ends;
      return undefined;
    }
    const afterEnd = ends - this.#endsToSee + 1;
    this.#endsToSee = 0;
    return { afterEnd };
  }
}

/** Takes a file's blocks from its last to its first. An entry without an end at the end of the file does not count. */
export class BackwardScan {
  readonly #count: TailCount;
  /** The first bytes of what follows the block. */
  #following: Buffer = Buffer.alloc(0);
  /** Where the entry ends whose beginning is being looked for; undefined while no line end was seen. */
  #entryEnd: number | undefined;

  constructor(count: TailCount) {
    this.#count = count;
  }

  /** `at`: where the block is in the file. Returns where the wanted lines begin, once that is known. */
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
    const head = block.subarray(0, longestHeaderBytes);
    this.#following =
      head.length < longestHeaderBytes
        ? Buffer.concat([head, this.#following]).subarray(0, longestHeaderBytes)
        : Buffer.from(head);
    return undefined;
  }

  /** The entry that begins at `from` of the block. */
  #entry(block: Buffer, at: number, from: number): number | undefined {
    const end = this.#entryEnd;
    // Empty lines are no entries, and there may be a great many.
    if (end === undefined || end - (at + from) <= 1) return undefined;
    const here = block.subarray(from, Math.min(from + longestHeaderBytes, end - at));
    const missing = Math.min(longestHeaderBytes, end - at - from) - here.length;
    const head = missing > 0 ? Buffer.concat([here, this.#following.subarray(0, missing)]) : here;
    return this.#count.pass(head) ? end : undefined;
  }
}

/** Counts the ends of lines in a file that can only be read forwards. */
export class ForwardScan {
  readonly #reader = new LineReader();
  #head: Buffer = Buffer.alloc(0);
  #at = 0;
  ends = 0;
  last: LineKind = 'none';

  /** Returns where the entry with the `stopAfter`-th end of a line is over, once that is known. */
  push(bytes: Buffer, stopAfter = Number.POSITIVE_INFINITY): number | undefined {
    for (let from = 0; from < bytes.length; ) {
      const found = bytes.indexOf(newline, from);
      const until = found < 0 ? bytes.length : found + 1;
      // Empty lines are no entries, and there may be a great many.
      if (found === from && this.#head.length === 0) {
        from = until;
        continue;
      }
      if (this.#head.length < longestHeaderBytes) {
        const more = bytes.subarray(from, Math.min(until, from + longestHeaderBytes - this.#head.length));
        this.#head = this.#head.length === 0 ? more : Buffer.concat([this.#head, more]);
      }
      if (found < 0) {
        this.#head = Buffer.from(this.#head);
        break;
      }
      const kind = lineKind(this.#reader, this.#head);
      this.#head = Buffer.alloc(0);
      if (kind !== 'none') this.last = kind;
      if (kind === 'ends') this.ends += 1;
      from = until;
      if (this.ends >= stopAfter) return this.#at + from;
    }
    this.#at += bytes.length;
    return undefined;
  }
}
