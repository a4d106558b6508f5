// A followed log over several connections: each begins a little before the end of the one before, and what was printed already is
// skipped. The server puts a timestamp before every line. Pure.
// Invariants: a line is printed once, also if the connection broke within it; lines with equal times are counted; lines of stdout
// and stderr may be out of order by a few milliseconds. State is bounded, however long lines are and however many there are.

const latin1 = new TextDecoder('latin1');
const newline = 0x0a;
const blank = 0x20;
/** 2026-01-31T12:00:00.123456789+01:00 is 35 bytes. */
const maxTimeBytes = 64;
/** Distinct times of lines that were printed. */
const maxTimes = 4096;
/** Lines may be written so much later than their time. */
const overlapMs = 5_000;
/** Date and time with nine decimals; the zone follows. */
const zoneAt = 29;

interface ResumableLogOptions {
  /** Whether the lines are printed with their times. */
  readonly timestamps: boolean;
}

export class ResumableLog {
  readonly #timestamps: boolean;
  /** How many complete lines of each time were printed; oldest first. */
  readonly #printed = new Map<string, number>();
  /** Lines up to this time may be missing in #printed. */
  #floor = '';
  #newest = '';
  /** The time of the current line, or its beginning. */
  #time = '';
  #line: 'time' | 'print' | 'skip' = 'time';
  #currentTime = '';
  /** Bytes of the current line that were printed, behind its time. */
  #lineBytes = 0;
  /** What the new connection repeats: lines by time, and the beginning of the line in which the last one broke. */
  #repeated = new Map<string, number>();
  #brokenTime: string | undefined;
  #brokenBytes = 0;
  #skipBytes = 0;

  constructor({ timestamps }: ResumableLogOptions) {
    this.#timestamps = timestamps;
  }

  /** From which time the next connection must begin; undefined if nothing was printed. Call before each new connection. */
  resume(): string | undefined {
    if (this.#line === 'print') {
      this.#brokenTime = this.#currentTime;
      // What was to be skipped still had been printed before.
      this.#brokenBytes = this.#lineBytes + this.#skipBytes;
    }
    this.#line = 'time';
    this.#time = '';
    if (this.#newest === '' && this.#brokenTime === undefined) return undefined;
    const newest = later(this.#newest, this.#brokenTime ?? '');
    const earliestMs = Date.parse(newest) - overlapMs;
    let since = newest;
    for (const time of this.#printed.keys())
      if (isAfter(time, this.#floor) && isAfter(since, time) && Date.parse(time) >= earliestMs) since = time;
    if (this.#brokenTime !== undefined && isAfter(since, this.#brokenTime)) since = this.#brokenTime;
    this.#repeated = new Map([...this.#printed].filter(([time]) => !isAfter(since, time)));
    return since;
  }

  /** The bytes to print. */
  push(chunk: Uint8Array): Uint8Array {
    const pieces: Uint8Array[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#line === 'time') {
        at = this.#readTime(chunk, at, pieces);
        continue;
      }
      const found = chunk.indexOf(newline, at);
      const end = found < 0 ? chunk.length : found + 1;
      if (this.#line === 'print') this.#take(chunk.subarray(at, end), pieces);
      if (found >= 0) this.#endLine();
      at = end;
    }
    return Buffer.concat(pieces);
  }

  /** Returns the position behind the time. */
  #readTime(chunk: Uint8Array, from: number, pieces: Uint8Array[]): number {
    const limit = Math.min(chunk.length, from + maxTimeBytes - this.#time.length);
    let end = from;
    while (end < limit && chunk[end] !== blank && chunk[end] !== newline) end += 1;
    this.#time += latin1.decode(chunk.subarray(from, end));
    if (end === chunk.length && this.#time.length < maxTimeBytes) return end;
    this.#beginLine(pieces);
    return chunk[end] === blank ? end + 1 : end;
  }

  #beginLine(pieces: Uint8Array[]): void {
    const time = this.#time;
    this.#time = '';
    this.#currentTime = time;
    this.#lineBytes = 0;
    this.#skipBytes = 0;
    const repeats = this.#repeated.get(time) ?? 0;
    if (repeats > 0) {
      this.#repeated.set(time, repeats - 1);
      this.#line = 'skip';
      return;
    }
    this.#line = 'print';
    if (this.#brokenTime === time) {
      this.#skipBytes = this.#brokenBytes;
      this.#brokenTime = undefined;
      return;
    }
    // The rest of the broken line is gone, so that it ends here.
    if (this.#brokenTime !== undefined && isAfter(time, this.#brokenTime)) {
      this.#brokenTime = undefined;
      pieces.push(Buffer.from('\n'));
    }
    if (this.#timestamps) pieces.push(Buffer.from(`${time} `, 'latin1'));
  }

  #take(bytes: Uint8Array, pieces: Uint8Array[]): void {
    const skipped = Math.min(this.#skipBytes, bytes.length);
    this.#skipBytes -= skipped;
    this.#lineBytes += bytes.length;
    if (skipped < bytes.length) pieces.push(bytes.subarray(skipped));
  }

  #endLine(): void {
    if (this.#line === 'print') this.#count(this.#currentTime);
    this.#line = 'time';
  }

  #count(time: string): void {
    this.#newest = later(this.#newest, time);
    const count = this.#printed.get(time);
    this.#printed.set(time, (count ?? 0) + 1);
    if (count !== undefined || this.#printed.size <= maxTimes) return;
    const [oldest = ''] = this.#printed.keys();
    this.#printed.delete(oldest);
    this.#floor = later(this.#floor, oldest);
  }
}

function later(a: string, b: string): string {
  return isAfter(b, a) ? b : a;
}

/** Times of equal zones compare as text, to the nanosecond. */
function isAfter(a: string, b: string): boolean {
  if (a === '' || b === '' || a.slice(zoneAt) === b.slice(zoneAt)) return a > b;
  return Date.parse(a) > Date.parse(b);
}
