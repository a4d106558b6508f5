// The in-memory form of a Go Quantity: an int64 with a power of ten or a wide decimal, the cached text, and the format. Two
// spellings of one amount differ here, and therefore in the hash.
// Upstream: apimachinery/pkg/api/resource (Quantity, int64Amount, infDecAmount) and gopkg.in/inf.v0 (Dec).
import { divideAwayFromZero, type QuantityFormat, readQuantity } from '../../quantity/quantity-text.ts';
import { isAbsent, isObject, type Json, plainText } from './json-value.ts';

/** `value` × 10^`scale`; for a wide one Go counts the power the other way round, see {@link printQuantity}. */
export type GoQuantity = {
  readonly value: bigint;
  readonly scale: number;
  readonly wide: boolean;
  readonly text: string;
  readonly format: QuantityFormat | '';
};

const nano = -9;
const milli = -3;
const maxInt64 = 2n ** 63n - 1n;
const nanosPerUnit = 10n ** 9n;

/** The zero value, for an absent quantity. */
const unset: GoQuantity = { value: 0n, scale: 0, wide: false, text: '', format: '' };

/** The Go quantity of a manifest's text or number; a GoQuantity is returned unchanged. Throws `invalid`. */
export function readGoQuantity(json: Json): GoQuantity {
  if (isHeld(json)) return json;
  if (isAbsent(json)) return unset;
  const written = plainText(json, '').trim();
  const { nanos, format, kept, small } = readQuantity(written);
  if (small !== undefined) return { ...small, wide: false, text: kept ?? '', format };
  const wide = { wide: true, text: '', format } as const;
  // Zero is not rounded and the maximum is a constant, so neither is scaled to nano.
  if (nanos === 0n) return { value: 0n, scale: -(/\.(\d*)/.exec(written)?.[1]?.length ?? 0), ...wide };
  const capped =
    format === 'BinarySI' && (nanos === maxInt64 * nanosPerUnit || nanos === -maxInt64 * nanosPerUnit);
  return capped ? { value: nanos / nanosPerUnit, scale: 0, ...wide } : { value: nanos, scale: nano, ...wide };
}

function isHeld(json: Json): json is GoQuantity {
  return isObject(json) && typeof json['value'] === 'bigint';
}

/** Rounds up to milli. A wide decimal is scaled to milli even if nothing is rounded. */
export function roundUpToMillis(quantity: GoQuantity): GoQuantity {
  const { value, scale, wide } = quantity;
  if (scale >= milli && !wide) return quantity;
  const rounded =
    scale < milli
      ? divideAwayFromZero(value, 10n ** BigInt(milli - scale))
      : value * 10n ** BigInt(scale - milli);
  return { ...quantity, value: rounded, scale: milli, text: '' };
}

/** The sum as Go computes it: int64 while it fits, with the finer scale, without the cached text. */
export function addGoQuantities(one: GoQuantity, other: GoQuantity): GoQuantity {
  const wide = one.wide || other.wide;
  const format = one.value === 0n ? other.format : one.format;
  const sum = { wide, text: '', format };
  // Adding an int64 zero does not even change the scale.
  if (!wide && other.value === 0n) return { ...sum, value: one.value, scale: one.scale };
  if (!wide && one.value === 0n) return { ...sum, value: other.value, scale: other.scale };
  const scale = Math.min(one.scale, other.scale);
  const value = atScale(one, scale) + atScale(other, scale);
  const fits = value <= maxInt64 && value >= -maxInt64 - 1n;
  return { ...sum, value, scale, wide: wide || !fits };
}

/** The larger of two, the first on a tie. Go turns the second into a wide decimal if the first is one. */
export function maxGoQuantity(one: GoQuantity, other: GoQuantity): GoQuantity {
  const scale = Math.min(one.scale, other.scale);
  if (atScale(other, scale) <= atScale(one, scale)) return one;
  return { ...other, wide: other.wide || one.wide };
}

function atScale(quantity: GoQuantity, scale: number): bigint {
  return quantity.value * 10n ** BigInt(quantity.scale - scale);
}

export function printQuantity(quantity: GoQuantity): string {
  const { value, scale, wide, text, format } = quantity;
  const small = wide ? '(int64)0 scale:(resource.Scale)0' : `(int64)${value} scale:(resource.Scale)${scale}`;
  const decimal = wide
    ? `{unscaled:(big.Int){neg:(bool)${value < 0n} abs:(big.nat)${printWords(value)}} scale:(inf.Scale)${-scale}}`
    : '<nil>';
  return (
    `{i:(resource.int64Amount){value:${small}} d:(resource.infDecAmount){Dec:(*inf.Dec)${decimal}}` +
    ` s:(string)${text} Format:(resource.Format)${format}}`
  );
}

/** The 64-bit words of the magnitude, lowest first. differs from upstream: 32-bit machines have 32-bit words. */
function printWords(value: bigint): string {
  if (value === 0n) return '<nil>';
  const words: bigint[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 64n) words.push(BigInt.asUintN(64, rest));
  return `[${words.join(' ')}]`;
}
