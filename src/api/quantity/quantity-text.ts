// Parses every spelling of a quantity that the API accepts, and formats the canonical one.
// Invariant: a quantity is a whole number of nanos; parsing rounds finer amounts away from zero.
// Upstream: apimachinery/pkg/api/resource (ParseQuantity, CanonicalizeBytes, the suffixer).
import { KubeletError } from '../../base/errors.ts';

/** The format of a quantity: 1500m or 2G; 512Ki; 5e3. Kept from the parsed text. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

interface ReadQuantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
  /** The original text, if upstream's fast path treats it as canonical and prints it unchanged. */
  readonly kept?: string;
  /** Upstream's int64 and power of ten; absent if upstream needs a wide decimal. */
  readonly small?: { readonly value: bigint; readonly scale: number };
}

const nanoScale = -9;
const nanosPerUnit = 10n ** 9n;
const maxBinary = (2n ** 63n - 1n) * nanosPerUnit;
const maxSmallDigits = 18;

// differs from upstream: longer texts and larger exponents are rejected. Upstream accepts them and spends unbounded memory and
// time on the arithmetic; no real amount comes near.
const maxTextLength = 1024;
const maxExponent = 1000;

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const decimalSuffixByExponent: ReadonlyMap<number, string> = new Map(
  [...decimalSuffixes].map(([suffix, exponent]) => [exponent, suffix]),
);
const largestDecimalExponent = 18;
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

// regex-bound: 1024, as maxTextLength
const shape = /^(?<sign>[+-]?)(?<whole>\d*)(?:\.(?<fraction>\d*))?(?<suffix>[eEinumkKMGTP]*[+-]?\d*)$/;

function invalid(text: string, why: string): KubeletError {
  const shown = text.length > 64 ? `${text.slice(0, 64)}…` : text;
  return new KubeletError('invalid', 'InvalidQuantity', `quantity ${JSON.stringify(shown)} ${why}`);
}

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

function readSuffix(text: string, suffix: string): Suffix {
  const decimal = decimalSuffixes.get(suffix);
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: 'DecimalSI' };
  const binary = binarySuffixes.findIndex((known) => known === suffix);
  if (binary > 0) return { base: 2, exponent: binary * 10, format: 'BinarySI' };
  if (!/^[eE][+-]?\d+$/.test(suffix)) throw invalid(text, `has the unknown suffix ${JSON.stringify(suffix)}`);
  const exponent = Number(suffix.slice(1));
  if (Math.abs(exponent) > maxExponent) throw invalid(text, `has an exponent beyond ${maxExponent}`);
  return { base: 10, exponent, format: 'DecimalExponent' };
}

/** Divides and rounds away from zero. */
export function divideAwayFromZero(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  if (dividend % divisor === 0n) return quotient;
  return dividend < 0n ? quotient - 1n : quotient + 1n;
}

/** `value` × 10^`exponent` in nanos. */
export function scaledNanos(value: bigint, exponent: number): bigint {
  const shift = exponent - nanoScale;
  return shift >= 0 ? value * 10n ** BigInt(shift) : divideAwayFromZero(value, 10n ** BigInt(-shift));
}

/** Parses a quantity. Throws `invalid`. Blanks around it are not allowed. */
export function readQuantity(text: string): ReadQuantity {
  if (text === '') throw invalid(text, 'is empty');
  if (text.length > maxTextLength) throw invalid(text, `is longer than ${maxTextLength} characters`);
  const groups = shape.exec(text)?.groups;
  if (groups === undefined) throw invalid(text, 'is not a number with an optional suffix');
  const { sign = '', whole = '', fraction = '' } = groups;
  const suffix = readSuffix(text, groups['suffix'] ?? '');
  if (text === '0') return { nanos: 0n, format: 'DecimalSI', kept: text, small: { value: 0n, scale: 0 } };

  // Upstream's fast path reads a text without digits as zero; its slow path rejects it.
  const significant = whole.replace(/^0+/, '') || '0';
  const unsigned = BigInt(significant + fraction);
  const small = readSmall(text, significant, fraction, suffix, sign === '-');
  if (small !== undefined) return small;
  if (whole === '' && fraction === '') throw invalid(text, 'has no digits');
  return readWide(sign === '-' ? -unsigned : unsigned, fraction.length, suffix);
}

/** Amounts that need no rounding and fit an int64: only their original text may be kept. */
function readSmall(
  text: string,
  whole: string,
  fraction: string,
  suffix: Suffix,
  negative: boolean,
): ReadQuantity | undefined {
  const digits = whole + fraction;
  const magnitude = BigInt(digits);
  if (suffix.base === 2) {
    const fits = fraction === '' && whole.length + (suffix.exponent * 3) / 10 <= 14;
    if (!fits) return undefined;
    const value = (negative ? -magnitude : magnitude) << BigInt(suffix.exponent);
    const kept = (magnitude & 7n) === 0n ? {} : { kept: text };
    return { nanos: value * nanosPerUnit, format: suffix.format, small: { value, scale: 0 }, ...kept };
  }
  const scale = suffix.exponent - fraction.length;
  if (digits.length > maxSmallDigits || scale < nanoScale) return undefined;
  const value = negative ? -magnitude : magnitude;
  const canonical = scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
  const kept = canonical ? { kept: text } : {};
  return { nanos: scaledNanos(value, scale), format: suffix.format, small: { value, scale }, ...kept };
}

function readWide(unscaled: bigint, fractionDigits: number, suffix: Suffix): ReadQuantity {
  if (suffix.base === 10) {
    return { nanos: scaledNanos(unscaled, suffix.exponent - fractionDigits), format: suffix.format };
  }
  const exact = scaledNanos(unscaled << BigInt(suffix.exponent), -fractionDigits);
  const nanos = exact > maxBinary ? maxBinary : exact < -maxBinary ? -maxBinary : exact;
  const belowOne = nanos !== 0n && nanos > -nanosPerUnit && nanos < nanosPerUnit;
  return { nanos, format: belowOne ? 'DecimalSI' : 'BinarySI' };
}

/** The canonical form: without a fraction or a loss of precision, with the largest possible suffix. */
export function writeQuantity(nanos: bigint, format: QuantityFormat): string {
  if (nanos === 0n) return '0';
  if (format === 'BinarySI' && nanos % nanosPerUnit === 0n) {
    const units = nanos / nanosPerUnit;
    if (units >= 1024n || units <= -1024n) return writeBinary(units);
  }
  let amount = nanos;
  let exponent = nanoScale;
  // differs from upstream: amounts above E, the last decimal suffix, keep it. Upstream has no suffix there
  // and writes none, so that 1000E becomes 1.
  const largest = format === 'DecimalExponent' ? Number.POSITIVE_INFINITY : largestDecimalExponent;
  while (exponent < largest && amount % 1000n === 0n) {
    amount /= 1000n;
    exponent += 3;
  }
  if (format !== 'DecimalExponent') return `${amount}${decimalSuffixByExponent.get(exponent) ?? ''}`;
  return exponent === 0 ? `${amount}` : `${amount}e${exponent}`;
}

function writeBinary(units: bigint): string {
  let amount = units;
  let step = 0;
  while (step < binarySuffixes.length - 1 && amount % 1024n === 0n) {
    amount /= 1024n;
    step += 1;
  }
  return `${amount}${binarySuffixes[step] ?? ''}`;
}
