// An amount of a resource, exact to a nano: 100m CPU, 1.5Gi memory. Immutable; uses no floating point.
// Invariant: parsing the result of toString yields an equal quantity. Upstream: apimachinery/pkg/api/resource (Quantity).
import { KubeletError } from '../../base/errors.ts';
import {
  divideAwayFromZero,
  type QuantityFormat,
  readQuantity,
  scaledNanos,
  writeQuantity,
} from './quantity-text.ts';

export type { QuantityFormat } from './quantity-text.ts';

const milli = -3;
const nano = -9;

export class Quantity {
  static readonly zero: Quantity = new Quantity(0n, 'DecimalSI');

  /** The amount in nanos. */
  readonly nanos: bigint;
  readonly format: QuantityFormat;
  readonly #kept: string | undefined;

  private constructor(nanos: bigint, format: QuantityFormat, kept?: string) {
    this.nanos = nanos;
    this.format = format;
    this.#kept = kept;
  }

  /** Parses text. Throws `invalid`. */
  static parse(text: string): Quantity {
    const { nanos, format, kept } = readQuantity(text);
    return new Quantity(nanos, format, kept);
  }

  /** Parses a value of a manifest: text, possibly with blanks around it, or a number. Throws `invalid`. */
  static fromJson(value: string | number): Quantity {
    if (typeof value === 'string') return Quantity.parse(value.trim());
    if (Number.isFinite(value)) return Quantity.parse(String(value));
    throw new KubeletError('invalid', 'InvalidQuantity', `quantity ${value} is not a finite number`);
  }

  /** `value` × 10^`exponent`, rounded away from zero to nanos. */
  static of(value: bigint | number, format: QuantityFormat = 'DecimalSI', exponent: number = 0): Quantity {
    return new Quantity(scaledNanos(BigInt(value), exponent), format);
  }

  static ofMilli(value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
    return Quantity.of(value, format, milli);
  }

  /** The sum has the format of the first summand, or of the second if the first is zero. */
  add(other: Quantity): Quantity {
    return new Quantity(this.nanos + other.nanos, this.isZero() ? other.format : this.format);
  }

  sub(other: Quantity): Quantity {
    return new Quantity(this.nanos - other.nanos, this.isZero() ? other.format : this.format);
  }

  mul(factor: bigint | number): Quantity {
    return new Quantity(this.nanos * BigInt(factor), this.format);
  }

  neg(): Quantity {
    return new Quantity(-this.nanos, this.format);
  }

  /** Rounds away from zero to a multiple of 10^`exponent`. */
  roundUp(exponent: number): Quantity {
    return new Quantity(scaledNanos(this.scaledValue(exponent), exponent), this.format);
  }

  /** -1, 0 or 1 if this is less than, equal to or greater than the other. Ignores the format. */
  cmp(other: Quantity): -1 | 0 | 1 {
    if (this.nanos === other.nanos) return 0;
    return this.nanos < other.nanos ? -1 : 1;
  }

  equals(other: Quantity): boolean {
    return this.nanos === other.nanos;
  }

  isZero(): boolean {
    return this.nanos === 0n;
  }

  sign(): -1 | 0 | 1 {
    return this.cmp(Quantity.zero);
  }

  /** In whole units, rounded away from zero. */
  value(): bigint {
    return this.scaledValue(0);
  }

  /** In thousandths, rounded away from zero. */
  milliValue(): bigint {
    return this.scaledValue(milli);
  }

  /** In multiples of 10^`exponent`, rounded away from zero. */
  // differs from upstream: never overflows, and always rounds negative amounts away from zero.
  scaledValue(exponent: number): bigint {
    const shift = exponent - nano;
    return shift <= 0
      ? this.nanos * 10n ** BigInt(-shift)
      : divideAwayFromZero(this.nanos, 10n ** BigInt(shift));
  }

  /** The nearest floating point number, for ratios and metrics. */
  toNumber(): number {
    return Number(`${this.nanos}e${nano}`);
  }

  toString(): string {
    return this.#kept ?? writeQuantity(this.nanos, this.format);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** The larger of two; the first if they are equal. */
export function maxQuantity(a: Quantity, b: Quantity): Quantity {
  return b.cmp(a) > 0 ? b : a;
}
