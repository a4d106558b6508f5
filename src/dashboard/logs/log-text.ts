// Splits the text of a container's log, with a time before each line, into lines. Upstream: none.
// Invariants: keeps at most the current piece of the log and maxLineBytes of an incomplete line, however long the line is; every
// line costs time in proportion to its bytes; times are normalized to UTC with nine decimals, so that they compare as texts.

/** A longer line is cut; runtimes split at the same length. */
export const maxLineBytes = 16 * 1024;
const newline = 0x0a;
/** The longest time, with a zone, and the space after it. */
const maxTimeBytes = 36;
const timePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})(Z|[+-]\d\d:\d\d) /;
const nothing = Buffer.alloc(0);

export interface LogLine {
  /** RFC 3339 in UTC with nine decimals. */
  readonly time: string;
  readonly text: string;
  readonly cut: boolean;
}

export class LogText {
  /** The piece of the log, and the position in it. */
  #piece: Buffer = nothing;
  #at = 0;
  /** The beginning of an incomplete line. */
  #carry: Buffer = nothing;
  /** The beginning of this line has been returned: its rest is skipped. */
  #skipsRest = false;
  #lastTime = '';

  /** Whether the position is within a line whose rest is skipped. */
  get isInLongLine(): boolean {
    return this.#skipsRest;
  }

  /** Call only after next() has returned undefined. */
  push(piece: Uint8Array): void {
    this.#piece = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.#at = 0;
  }

  /** The next line, or undefined if the rest of it is not there yet. */
  next(): LogLine | undefined {
    while (this.#at < this.#piece.length) {
      const end = this.#piece.indexOf(newline, this.#at);
      const until = end < 0 ? this.#piece.length : end;
      const from = this.#at;
      this.#at = end < 0 ? until : until + 1;
      if (this.#skipsRest) {
        this.#skipsRest = end < 0;
        continue;
      }
      const room = maxTimeBytes + maxLineBytes - this.#carry.length;
      const part = this.#piece.subarray(from, Math.min(until, from + room));
      const isLong = until - from > room;
      this.#skipsRest = isLong && end < 0;
      if (end >= 0 || isLong) return this.#line(this.#carry.length === 0 ? part : this.#take(part), isLong);
      this.#carry = Buffer.concat([this.#carry, part]);
    }
    this.#piece = nothing;
    return undefined;
  }

  /** The incomplete line at the end of the log. */
  finish(): LogLine | undefined {
    const rest = this.#take(nothing);
    return rest.length === 0 ? undefined : this.#line(rest, false);
  }

  #take(part: Buffer): Buffer {
    const whole = Buffer.concat([this.#carry, part]);
    this.#carry = nothing;
    return whole;
  }

  #line(bytes: Buffer, isLong: boolean): LogLine {
    const head = bytes.toString('latin1', 0, maxTimeBytes);
    const match = timePattern.exec(head);
    const contentAt = match?.[0].length ?? 0;
    if (match !== null) this.#lastTime = utcOf(match);
    const cut = isLong || bytes.length - contentAt > maxLineBytes;
    // Bytes that are not UTF-8 become U+FFFD, also those of a character that is cut.
    const text = bytes.toString('utf8', contentAt, Math.min(bytes.length, contentAt + maxLineBytes));
    return { time: this.#lastTime, text, cut };
  }
}

function utcOf([, second = '', nanos = '', zone = '']: RegExpExecArray): string {
  if (zone === 'Z') return `${second}.${nanos}Z`;
  const ms = Date.parse(`${second}${zone}`);
  return Number.isNaN(ms) ? `${second}.${nanos}Z` : `${new Date(ms).toISOString().slice(0, 19)}.${nanos}Z`;
}

/** The time that is `ms` milliseconds later. */
export function addMs(time: string, ms: number): string {
  const parsed = Date.parse(`${time.slice(0, 23)}Z`);
  if (Number.isNaN(parsed)) return time;
  return `${new Date(parsed + ms).toISOString().slice(0, 23)}${time.slice(23)}`;
}
