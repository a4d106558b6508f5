// Turns the bytes of a log file into what is answered: headers cut off, lines before `since` and of other streams left out, times
// put in front, cut at limitBytes. Upstream: the loop of ReadLogs and logWriter in staging/src/k8s.io/cri-client/pkg/logs.
// Invariants: it may be fed in pieces of any size; what it keeps between them is bounded, however long a line is; every answer
// is memory of its own, so that the caller may feed the same buffer again.
import { LineReader, longestHeaderBytes } from './log-line.ts';
import type { LogOptions } from './log-options.ts';
import { formatTimestamp } from './timestamp.ts';

const newline = 0x0a;
/** A longer line is handed on in pieces; runtimes cut at 16 KiB. */
export const longestLineBytes = 1024 * 1024;

export type FilterOptions = Pick<LogOptions, 'timestamps' | 'since' | 'limitBytes' | 'stdout' | 'stderr'>;

/** In the middle of an overlong line: hand on what comes, or leave it out, up to the line's end. */
type Overlong = 'none' | 'handed on' | 'without its end' | 'left out';

export class LogFilter {
  readonly #options: FilterOptions;
  readonly #line = new LineReader();
  #remainingBytes: number;
  #carry: Buffer = Buffer.alloc(0);
  #overlong: Overlong = 'none';
  #atLineStart = true;
  #out: Buffer = Buffer.alloc(0);
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

  push(bytes: Buffer): Uint8Array {
    this.#begin(bytes.length);
    let at = this.#finishCarried(bytes);
    while (at < bytes.length && !this.isDone) {
      const end = bytes.indexOf(newline, at);
      if (end < 0) {
        this.#carry = Buffer.from(bytes.subarray(at));
        break;
      }
      this.#take(bytes, at, end + 1);
      at = end + 1;
    }
    return this.#out.subarray(0, this.#outBytes);
  }

  /** No more will come: a line without an end counts as one. */
  finish(): Uint8Array {
    this.#begin(this.#carry.length);
    if (this.#carry.length > 0 && !this.isDone) this.#take(this.#carry, 0, this.#carry.length);
    this.restart();
    return this.#out.subarray(0, this.#outBytes);
  }

  /** What comes next is not the rest of what came last: the file was emptied, or another one begins. */
  restart(): void {
    this.#carry = Buffer.alloc(0);
    this.#overlong = 'none';
  }

  #begin(inBytes: number): void {
    this.#out = Buffer.allocUnsafe(inBytes + this.#carry.length + 64);
    this.#outBytes = 0;
  }

  /** Takes the end of a line of which the beginning came before; returns where the next one begins. */
  #finishCarried(bytes: Buffer): number {
    if (this.#carry.length === 0 && this.#overlong === 'none') return 0;
    const end = bytes.indexOf(newline);
    const until = end < 0 ? bytes.length : end + 1;
    if (this.#overlong !== 'none') {
      if (this.#overlong !== 'left out') {
        const keepsEnd = end < 0 || this.#overlong === 'handed on';
        this.#write(bytes, 0, keepsEnd ? until : until - 1, undefined);
      }
      if (end >= 0) this.#overlong = 'none';
      return until;
    }
    this.#carry = Buffer.concat([this.#carry, bytes.subarray(0, until)]);
    if (end >= 0) {
      const line = this.#carry;
      this.#carry = Buffer.alloc(0);
      this.#take(line, 0, line.length);
    } else if (this.#carry.length > longestLineBytes) this.#takeOverlong();
    return until;
  }

  #takeOverlong(): void {
    const begun = this.#carry;
    this.#carry = Buffer.alloc(0);
    const contentAt = this.#line.readHeader(begun, 0, longestHeaderBytes);
    if (contentAt < 0) this.#unreadable += 1;
    else this.#lines += 1;
    if (contentAt < 0 || !this.#isWanted()) {
      this.#overlong = 'left out';
      return;
    }
    this.#overlong = this.#line.partial ? 'without its end' : 'handed on';
    this.#write(begun, contentAt, begun.length, begun);
  }

  #take(bytes: Buffer, from: number, to: number): void {
    const line = this.#line;
    if (!line.read(bytes, from, to)) {
      this.#unreadable += 1;
      return;
    }
    this.#lines += 1;
    if (this.#isWanted()) this.#write(line.content, line.from, line.to, bytes);
    // Also by what is left out, as upstream has it: the rest of a cut line gets no time in front.
    this.#atLineStart = line.from === line.to || line.content[line.to - 1] === newline;
  }

  #isWanted(): boolean {
    const { since, stderr, stdout } = this.#options;
    if (!(this.#line.stream === 'stdout' ? stdout : stderr)) return false;
    return since === undefined || !this.#line.time.isBefore(since);
  }

  /** `line`: the bytes of the line whose text this is; undefined when its beginning was written before. */
  #write(bytes: Buffer, from: number, to: number, line: Buffer | undefined): void {
    if (line !== undefined && this.#options.timestamps && this.#atLineStart) this.#writeTime(line);
    this.#copy(bytes, from, to);
    if (to > from) this.#atLineStart = bytes[to - 1] === newline;
  }

  #writeTime(bytes: Buffer): void {
    const { time, timeFrom, timeTo } = this.#line;
    if (time.isFixedWidth && timeTo > timeFrom) {
      this.#copy(bytes, timeFrom, timeTo + 1);
      return;
    }
    const prefix = Buffer.from(`${formatTimestamp(time)} `);
    this.#copy(prefix, 0, prefix.length);
  }

  #copy(bytes: Buffer, from: number, to: number): void {
    const length = Math.min(to - from, this.#remainingBytes);
    if (length <= 0) return;
    if (this.#outBytes + length > this.#out.length) {
      const grown = Buffer.allocUnsafe(2 * this.#out.length + length);
      this.#out.copy(grown, 0, 0, this.#outBytes);
      this.#out = grown;
    }
    bytes.copy(this.#out, this.#outBytes, from, from + length);
    this.#outBytes += length;
    this.#remainingBytes -= length;
  }
}
