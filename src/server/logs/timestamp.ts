// Parses the timestamps of log lines from bytes, to the nanosecond. Upstream: time.Parse of RFC 3339 in
// staging/src/k8s.io/cri-client/pkg/logs. Invariant: no allocation per line; the result is in the reader's fields.

export interface Instant {
  /** Whole seconds since the epoch. */
  readonly seconds: number;
  readonly nanos: number;
}

const zero = 0x30;
const maxDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Parses one time after the other; its fields describe the last one. */
export class TimestampReader {
  seconds = 0;
  nanos = 0;
  /** The zone's offset: 0 for Z. */
  offsetMinutes = 0;
  /** Whether the text equals formatTimestamp()'s. */
  isFixedWidth = false;
  /** The second of the last time, as text and as a number without its zone. */
  readonly #lastSecond = new Uint8Array(19);
  #wallSeconds = 0;
  #hasSecond = false;

  /** Whether [from, to) is a time with any number of decimals and a zone. */
  read(bytes: Uint8Array, from: number, to: number): boolean {
    // YYYY-MM-DDThh:mm:ss
    if (to - from < 20) return false;
    if (!this.#isSameSecond(bytes, from) && !this.#readSecond(bytes, from)) return false;
    const zone = this.#fraction(bytes, from + 19, to);
    if (zone < 0 || !this.#zone(bytes, zone, to)) return false;
    this.isFixedWidth =
      zone === from + 29 && bytes[from + 19] === 0x2e && (bytes[zone] === 0x5a || this.offsetMinutes !== 0);
    this.seconds = this.#wallSeconds - this.offsetMinutes * 60;
    return true;
  }

  isBefore({ nanos, seconds }: Instant): boolean {
    return this.seconds < seconds || (this.seconds === seconds && this.nanos < nanos);
  }

  /** Most lines have the same second as the previous one. */
  #isSameSecond(bytes: Uint8Array, from: number): boolean {
    if (!this.#hasSecond) return false;
    const last = this.#lastSecond;
    for (let at = 18; at >= 0; at--) if (bytes[from + at] !== last[at]) return false;
    return true;
  }

  #readSecond(bytes: Uint8Array, from: number): boolean {
    this.#hasSecond = false;
    const year = digits(bytes, from, 4);
    const month = digits(bytes, from + 5, 2);
    const day = digits(bytes, from + 8, 2);
    const hour = digits(bytes, from + 11, 2);
    const minute = digits(bytes, from + 14, 2);
    const second = digits(bytes, from + 17, 2);
    if (bytes[from + 4] !== 0x2d || bytes[from + 7] !== 0x2d || bytes[from + 10] !== 0x54) return false;
    if (bytes[from + 13] !== 0x3a || bytes[from + 16] !== 0x3a) return false;
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return false;
    this.#wallSeconds = daysSinceEpoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    for (let at = 0; at < 19; at++) this.#lastSecond[at] = bytes[from + at] as number;
    this.#hasSecond = true;
    return true;
  }

  /** Where the zone begins; -1 for a point without digits. */
  #fraction(bytes: Uint8Array, from: number, to: number): number {
    this.nanos = 0;
    if (bytes[from] !== 0x2e && bytes[from] !== 0x2c) return from;
    let at = from + 1;
    let scale = 100_000_000;
    for (; at < to; at++) {
      const digit = (bytes[at] ?? 0) - zero;
      if (digit < 0 || digit > 9) break;
      // More than nine decimals are truncated, not rounded.
      this.nanos += digit * scale;
      scale = scale === 1 ? 0 : scale / 10;
    }
    return at === from + 1 ? -1 : at;
  }

  #zone(bytes: Uint8Array, from: number, to: number): boolean {
    this.offsetMinutes = 0;
    const sign = bytes[from];
    if (sign === 0x5a) return to === from + 1;
    if ((sign !== 0x2b && sign !== 0x2d) || to !== from + 6 || bytes[from + 3] !== 0x3a) return false;
    const hours = digits(bytes, from + 1, 2);
    const minutes = digits(bytes, from + 4, 2);
    if (hours < 0 || hours > 24 || minutes < 0 || minutes > 60) return false;
    this.offsetMinutes = (sign === 0x2b ? 1 : -1) * (hours * 60 + minutes);
    return true;
  }
}

/** Undefined if the text is not a time. */
export function parseInstant(text: string): Instant | undefined {
  const bytes = new TextEncoder().encode(text);
  const reader = new TimestampReader();
  return reader.read(bytes, 0, bytes.length) ? { seconds: reader.seconds, nanos: reader.nanos } : undefined;
}

export function instantOfMs(ms: number): Instant {
  const seconds = Math.floor(ms / 1_000);
  return { seconds, nanos: Math.round((ms - seconds * 1_000) * 1_000_000) };
}

/** With nine decimals, in its original zone. */
export function formatTimestamp({ nanos, offsetMinutes, seconds }: TimestampReader): string {
  const local = new Date((seconds + offsetMinutes * 60) * 1_000).toISOString().slice(0, 19);
  const fraction = String(nanos).padStart(9, '0');
  if (offsetMinutes === 0) return `${local}.${fraction}Z`;
  const minutes = Math.abs(offsetMinutes);
  const pair = (value: number): string => String(value).padStart(2, '0');
  const sign = offsetMinutes < 0 ? '-' : '+';
  return `${local}.${fraction}${sign}${pair(Math.floor(minutes / 60))}:${pair(minutes % 60)}`;
}

/** -1 if a byte is not a digit. */
function digits(bytes: Uint8Array, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at++) {
    const digit = (bytes[at] ?? 0) - zero;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && !leap ? 28 : (maxDays[month - 1] ?? 0);
}

/** In the proleptic Gregorian calendar, with years that begin in March. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
