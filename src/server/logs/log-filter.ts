// Converts the bytes of a log file into the response: strips headers, skips lines before `since` and of other streams, adds
// timestamps, truncates at limitBytes. Upstream: the loop of ReadLogs and logWriter in staging/src/k8s.io/cri-client/pkg/logs.
// Invariants: accepts pieces of any size; its state between pieces is bounded, however long a line is; results do not share
// memory. Since the output is rarely longer than the input, it is written in place: the write position never overtakes the read
// position, and another buffer is used if it would.
import { LineReader, maxHeaderBytes } from './log-line.ts';
import type { LogOptions } from './log-options.ts';
import { formatTimestamp } from './timestamp.ts';

const newline = 0x0a;
/** A longer line is passed on in pieces; runtimes split at 16 KiB. */
export const maxLineBytes = 1024 * 1024;
/** A smaller result is copied, so that the buffer can be reused. */
const copyBelowBytes = 4 * 1024;
const nothing = Buffer.alloc(0);

export type FilterOptions = Pick<LogOptions, 'timestamps' | 'since' | 'limitBytes' | 'stdout' | 'stderr'>;

/** Within an overlong line: pass its rest on, or skip it. */
type Overlong = 'none' | 'pass' | 'pass without newline' | 'skip';

export class LogFilter {
  readonly #options: FilterOptions;
  readonly #line = new LineReader();
  #remainingBytes: number;
  /** The beginning of an incomplete line. */
  #carry: Buffer = nothing;
  #overlong: Overlong = 'none';
  #atLineStart = true;
  /** The input: the carried beginning of a line and the bytes after it. */
  #in: Buffer = nothing;
  /** The output: the same buffer, as long as writing does not overtake reading. */
  #out: Buffer = nothing;
  #outBytes = 0;
  #lines = 0;
  #unreadable = 0;

  constructor(options: FilterOptions) {
    this.#options = options;
    this.#remainingBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Further bytes have no effect. */
  get isDone(): boolean {
    return this.#remainingBytes <= 0;
  }

  /** The number of lines in an unknown format. */
  get unreadableLines(): number {
    return this.#unreadable;
  }

  get lines(): number {
    return this.#lines;
  }

  /** The time of the last valid line. */
  get lastTime(): { readonly seconds: number; readonly nanos: number } {
    return { seconds: this.#line.time.seconds, nanos: this.#line.time.nanos };
  }

  /** The buffer for the next bytes; call filled() afterwards. */
  space(bytes: number): Buffer {
    const carried = this.#carry.length;
    if (this.#in.length < carried + bytes) this.#in = Buffer.allocUnsafe(carried + bytes);
    this.#carry.copy(this.#in);
    return this.#in.subarray(carried, carried + bytes);
  }

  /** Processes the bytes that were put into space(). */
  filled(bytes: number): Uint8Array {
    const length = this.#carry.length + bytes;
    const searched = this.#carry.length;
    this.#carry = nothing;
    this.#out = this.#in;
    this.#outBytes = 0;
    this.#work(length, searched);
    if (this.#out !== this.#in) return this.#out.subarray(0, this.#outBytes);
    const answer = this.#out.subarray(0, this.#outBytes);
    if (this.#outBytes <= copyBelowBytes) return Buffer.from(answer);
    this.#in = nothing;
    return answer;
  }

  push(bytes: Uint8Array): Uint8Array {
    this.space(bytes.length).set(bytes);
    return this.filled(bytes.length);
  }

  /** Processes the rest: an incomplete line counts as a line. */
  finish(): Uint8Array {
    this.space(0);
    const length = this.#carry.length;
    this.restart();
    this.#out = this.#in;
    this.#outBytes = 0;
    if (length > 0 && !this.isDone) this.#take(0, length);
    return Buffer.from(this.#out.subarray(0, this.#outBytes));
  }

  /** Drops the incomplete line: the file was truncated, or another one begins. */
  restart(): void {
    this.#carry = nothing;
    this.#overlong = 'none';
  }

  /** `searched`: the first bytes, which are known to have no newline. */
  #work(length: number, searched: number): void {
    const bytes = this.#in;
    let at = this.#overlong === 'none' ? 0 : this.#continueOverlong(length);
    let from = Math.max(at, searched);
    while (at < length && !this.isDone) {
      const end = bytes.indexOf(newline, from);
      if (end < 0 || end >= length) {
        if (length - at > maxLineBytes) this.#takeOverlong(at, length);
        else this.#carry = Buffer.from(bytes.subarray(at, length));
        return;
      }
      this.#take(at, end + 1);
      at = end + 1;
      from = at;
    }
  }

  /** Processes the rest of an overlong line; returns where the next line begins. */
  #continueOverlong(length: number): number {
    const end = this.#in.subarray(0, length).indexOf(newline);
    const until = end < 0 ? length : end + 1;
    if (this.#overlong !== 'skip') {
      const withoutEnd = end >= 0 && this.#overlong === 'pass without newline';
      this.#write(this.#in, 0, withoutEnd ? until - 1 : until, until);
    }
    if (end >= 0) this.#overlong = 'none';
    return until;
  }

  #takeOverlong(from: number, to: number): void {
    const contentAt = this.#line.readHeader(this.#in, from, from + maxHeaderBytes);
    if (contentAt < 0) this.#unreadable += 1;
    else this.#lines += 1;
    if (contentAt < 0 || !this.#isSelected()) {
      this.#overlong = 'skip';
      return;
    }
    this.#overlong = this.#line.partial ? 'pass without newline' : 'pass';
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
    // Also for skipped lines, as upstream: the rest of a split line gets no timestamp.
    const endsLine = line.from === line.to || line.content[line.to - 1] === newline;
    if (this.#isSelected()) {
      this.#writeTime(line.content === this.#in ? line.from : to);
      this.#write(line.content, line.from, line.to, to);
    }
    this.#atLineStart = endsLine;
  }

  #isSelected(): boolean {
    const { since, stderr, stdout } = this.#options;
    if (!(this.#line.stream === 'stdout' ? stdout : stderr)) return false;
    return since === undefined || !this.#line.time.isBefore(since);
  }

  /** `free`: input before this offset may be overwritten. */
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
    // Within one buffer this is a memmove; between two, a copy.
    if (this.#out === bytes) bytes.copyWithin(at, from, from + length);
    else bytes.copy(this.#out, at, from, from + length);
    this.#outBytes = needed;
    this.#remainingBytes -= length;
  }
}
