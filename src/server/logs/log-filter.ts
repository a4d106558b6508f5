// Turns the bytes of a log file into what is answered: headers cut off, lines before `since` and of other streams left out, times
// put in front, cut at limitBytes. Upstream: the loop of ReadLogs and logWriter in staging/src/k8s.io/cri-client/pkg/logs.
// Invariants: it may be fed in pieces of any size; what it keeps between them is bounded, however long a line is; every answer
// is memory of its own. Since the answer is hardly ever longer than what it comes from, it is made in place: what is written
// never overtakes what is still to be read, and goes to another buffer where it would.
import { LineReader, longestHeaderBytes } from './log-line.ts';
import type { LogOptions } from './log-options.ts';
import { formatTimestamp } from './timestamp.ts';

const newline = 0x0a;
/** A longer line is handed on in pieces; runtimes cut at 16 KiB. */
export const longestLineBytes = 1024 * 1024;
/** A smaller answer is copied, so that the buffer can be used again. */
const smallAnswerBytes = 4 * 1024;
const nothing = Buffer.alloc(0);

export type FilterOptions = Pick<LogOptions, 'timestamps' | 'since' | 'limitBytes' | 'stdout' | 'stderr'>;

/** In the middle of an overlong line: hand on what comes, or leave it out, up to the line's end. */
type Overlong = 'none' | 'handed on' | 'without its end' | 'left out';

export class LogFilter {
  readonly #options: FilterOptions;
  readonly #line = new LineReader();
  #remainingBytes: number;
  /** The beginning of a line whose end has not come yet. */
  #carry: Buffer = nothing;
  #overlong: Overlong = 'none';
  #atLineStart = true;
  /** What was read: the carried beginning of a line, then what came after it. */
  #in: Buffer = nothing;
  /** Where the answer is written: the same, as long as it does not overtake. */
  #out: Buffer = nothing;
  #outBytes = 0;
  #lines = 0;
  #unreadable = 0;

  constructor(options: FilterOptions) {
    this.#options = options;
    this.#remainingBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Nothing will come of further bytes. */
  get isDone(): boolean {
    return this.#remainingBytes <= 0;
  }

  /** How many lines were in no format that is known. */
  get unreadableLines(): number {
    return this.#unreadable;
  }

  get lines(): number {
    return this.#lines;
  }

  /** The time of the last line that was one. */
  get lastTime(): { readonly seconds: number; readonly nanos: number } {
    return { seconds: this.#line.time.seconds, nanos: this.#line.time.nanos };
  }

  /** Where to put the next bytes; then filled() is to be called. */
  space(bytes: number): Buffer {
    const carried = this.#carry.length;
    if (this.#in.length < carried + bytes) this.#in = Buffer.allocUnsafe(carried + bytes);
    this.#carry.copy(this.#in);
    return this.#in.subarray(carried, carried + bytes);
  }

  /** What comes of so many bytes put there. */
  filled(bytes: number): Uint8Array {
    const length = this.#carry.length + bytes;
    const searched = this.#carry.length;
    this.#carry = nothing;
    this.#out = this.#in;
    this.#outBytes = 0;
    this.#work(length, searched);
    if (this.#out !== this.#in) return this.#out.subarray(0, this.#outBytes);
    const answer = this.#out.subarray(0, this.#outBytes);
    if (this.#outBytes <= smallAnswerBytes) return Buffer.from(answer);
    this.#in = nothing;
    return answer;
  }

  push(bytes: Uint8Array): Uint8Array {
    this.space(bytes.length).set(bytes);
    return this.filled(bytes.length);
  }

  /** No more will come: a line without an end counts as one. */
  finish(): Uint8Array {
    this.space(0);
    const length = this.#carry.length;
    this.restart();
    this.#out = this.#in;
    this.#outBytes = 0;
    if (length > 0 && !this.isDone) this.#take(0, length);
    return Buffer.from(this.#out.subarray(0, this.#outBytes));
  }

  /** What comes next is not the rest of what came last: the file was emptied, or another one begins. */
  restart(): void {
    this.#carry = nothing;
    this.#overlong = 'none';
  }

  /** `searched`: so many bytes at the beginning are known to have no line end. */
  #work(length: number, searched: number): void {
    const bytes = this.#in;
    let at = this.#overlong === 'none' ? 0 : this.#goOn(length);
    let from = Math.max(at, searched);
    while (at < length && !this.isDone) {
      const end = bytes.indexOf(newline, from);
      if (end < 0 || end >= length) {
        if (length - at > longestLineBytes) this.#takeOverlong(at, length);
        else this.#carry = Buffer.from(bytes.subarray(at, length));
        return;
      }
      this.#take(at, end + 1);
      at = end + 1;
      from = at;
    }
  }

  /** In an overlong line; returns where the next one begins. */
  #goOn(length: number): number {
    const end = this.#in.subarray(0, length).indexOf(newline);
    const until = end < 0 ? length : end + 1;
    if (this.#overlong !== 'left out') {
      const withoutEnd = end >= 0 && this.#overlong === 'without its end';
      this.#write(this.#in, 0, withoutEnd ? until - 1 : until, until);
    }
    if (end >= 0) this.#overlong = 'none';
    return until;
  }

  #takeOverlong(from: number, to: number): void {
    const contentAt = this.#line.readHeader(this.#in, from, from + longestHeaderBytes);
    if (contentAt < 0) this.#unreadable += 1;
    else this.#lines += 1;
    if (contentAt < 0 || !this.#isWanted()) {
      this.#overlong = 'left out';
      return;
    }
    this.#overlong = this.#line.partial ? 'without its end' : 'handed on';
    this.#writeTime(contentAt);
    this.#write(this.#in, contentAt, to, to);
  }

  #take(from: number, to: number): void {
    const line = this.#line;
    if (!line.read(this.#in, from, to)) {
      this.#unreadable += 1;
      return;
    }
    this.#lines += 1;
    // Also by what is left out, as upstream has it: the rest of a cut line gets no time in front.
    const endsLine = line.from === line.to || line.content[line.to - 1] === newline;
    if (this.#isWanted()) {
      this.#writeTime(line.content === this.#in ? line.from : to);
      this.#write(line.content, line.from, line.to, to);
    }
    this.#atLineStart = endsLine;
  }

  #isWanted(): boolean {
    const { since, stderr, stdout } = this.#options;
    if (!(this.#line.stream === 'stdout' ? stdout : stderr)) return false;
    return since === undefined || !this.#line.time.isBefore(since);
  }

  /** `free`: up to where the bytes that were read are not needed any more. */
  #writeTime(free: number): void {
    if (!this.#options.timestamps || !this.#atLineStart) return;
    const { time, timeFrom, timeTo } = this.#line;
    if (time.isFixedWidth && timeTo > timeFrom) {
      this.#copy(this.#in, timeFrom, timeTo + 1, free);
      return;
    }
    const prefix = Buffer.from(`${formatTimestamp(time)} `);
    this.#copy(prefix, 0, prefix.length, free);
  }

  #write(bytes: Buffer, from: number, to: number, free: number): void {
    if (to > from) this.#atLineStart = bytes[to - 1] === newline;
    this.#copy(bytes, from, to, free);
  }

  #copy(bytes: Buffer, from: number, to: number, free: number): void {
    const length = Math.min(to - from, this.#remainingBytes);
    if (length <= 0) return;
    const at = this.#outBytes;
    const needed = at + length;
    if (this.#out === this.#in ? needed > free : needed > this.#out.length) {
      const other = Buffer.allocUnsafe(this.#in.length + 2 * needed);
      this.#out.copy(other, 0, 0, at);
      this.#out = other;
    }
    // Within one buffer this is a single move of memory; between two, a copy.
    if (this.#out === bytes) bytes.copyWithin(at, from, from + length);
    else bytes.copy(this.#out, at, from, from + length);
    this.#outBytes = needed;
    this.#remainingBytes -= length;
  }
}
