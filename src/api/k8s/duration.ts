// Durations in Go's format, as in flags, config files and the API: "1m30s", "100ms", "-1.5h".
// Invariant: parseDuration(formatDuration(d)) = d for every int64 number of nanoseconds. Upstream: Go's time.Duration.
import { KubeletError } from '../../base/errors.ts';

const units: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n], // the micro sign
  ['μs', 1_000n], // the Greek letter mu
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

const nsPerMs = 1e6;
const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;
const maxTextLength = 256;

function invalid(text: string, why: string): KubeletError {
  const shown = text.length > 64 ? `${text.slice(0, 64)}…` : text;
  return new KubeletError('invalid', 'InvalidDuration', `duration ${JSON.stringify(shown)} ${why}`);
}

/** Parses a duration into nanoseconds. Throws `invalid` on malformed text and on int64 overflow. */
export function parseDuration(text: string): bigint {
  if (text.length > maxTextLength) throw invalid(text, `is longer than ${maxTextLength} characters`);
  const unsigned = text.replace(/^[+-]/, '');
  if (unsigned === '') throw invalid(text, 'is empty');
  if (unsigned === '0') return 0n;
  const part = /(\d*)(?:\.(\d*))?([^\d.]*)/y;
  let total = 0n;
  while (part.lastIndex < unsigned.length) {
    const [, whole = '', fraction = '', unit = ''] = part.exec(unsigned) ?? [];
    if (whole === '' && fraction === '') throw invalid(text, 'has no number before a unit');
    const size = units.get(unit);
    if (unit === '') throw invalid(text, 'has a number without a unit (ns, us, ms, s, m or h)');
    if (size === undefined) throw invalid(text, `has the unknown unit ${JSON.stringify(unit)}`);
    total += BigInt(whole) * size + fractionOf(fraction, size);
  }
  const signed = text.startsWith('-') ? -total : total;
  if (signed < minInt64 || signed > maxInt64) throw invalid(text, 'is too long a time');
  return signed;
}

/** A fraction of a unit in floating point, as Go computes it: the last nanosecond must agree. */
function fractionOf(digits: string, size: bigint): bigint {
  // As many digits as fit an int64; Go ignores the others.
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (value > maxInt64 / 10n || next > 2n ** 63n) break;
    value = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(size) / scale)));
}

/** Formats nanoseconds as Go does: the largest unit below a second, otherwise hours, minutes and seconds. */
export function formatDuration(ns: bigint): string {
  if (ns === 0n) return '0s';
  const sign = ns < 0n ? '-' : '';
  const abs = ns < 0n ? -ns : ns;
  if (abs < 1_000n) return `${sign}${abs}ns`;
  if (abs < 1_000_000n) return `${sign}${decimal(abs, 3)}µs`;
  if (abs < 1_000_000_000n) return `${sign}${decimal(abs, 6)}ms`;
  const minutes = abs / 60_000_000_000n;
  const seconds = `${decimal(abs % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return sign + seconds;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** `value` ÷ 10^`places`, without trailing zeros. */
function decimal(value: bigint, places: number): string {
  const text = value.toString().padStart(places + 1, '0');
  // regex-bound: 9, digits of a fraction of a second
  const fraction = text.slice(-places).replace(/0+$/, '');
  return fraction === '' ? text.slice(0, -places) : `${text.slice(0, -places)}.${fraction}`;
}

/** A duration in milliseconds, for timers; may be fractional. */
export function durationMs(duration: string | bigint): number {
  return Number(typeof duration === 'string' ? parseDuration(duration) : duration) / nsPerMs;
}

/** Milliseconds in Go's format. */
export function formatDurationMs(ms: number): string {
  return formatDuration(BigInt(Math.round(ms * nsPerMs)));
}
