import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isKind } from '../../base/errors.ts';
import { maxQuantity, Quantity, type QuantityFormat } from './quantity.ts';

const q = (text: string): Quantity => Quantity.parse(text);
const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);
const max = Quantity.of(maxInt64);

describe('fromJson', () => {
  const cases: ReadonlyArray<readonly [string | number, string]> = [
    [' 1', '1'],
    ['1 ', '1'],
    [' \t\r\n1M \t\r\n', '1M'],
    [1, '1'],
    [10, '10'],
    [-1, '-1'],
    [0, '0'],
    [-0, '0'],
    [0.5, '500m'],
    [1e21, '1e+21'],
    [1e-7, '100e-9'],
  ];
  test.each(cases)('parses %j as %s', (value, want) => {
    expect(Quantity.fromJson(value).toString()).toBe(want);
  });
  test.each([Number.NaN, Number.POSITIVE_INFINITY, '', ' ', 'x'])('rejects %j', (value) => {
    expect(() => Quantity.fromJson(value)).toThrow(/^quantity /);
  });
  test('serializes as a string', () => {
    expect(JSON.stringify({ memory: q('1Mi') })).toBe('{"memory":"1Mi"}');
  });
});

describe('of() and milli()', () => {
  const cases: ReadonlyArray<readonly [bigint | number, QuantityFormat, number, string]> = [
    [1, 'DecimalSI', 0, '1'],
    [1000, 'DecimalSI', 0, '1k'],
    [1234000, 'DecimalSI', 0, '1234k'],
    [1024, 'BinarySI', 0, '1Ki'],
    [1048576n, 'BinarySI', 0, '1Mi'],
    [1000000, 'DecimalExponent', 0, '1e6'],
    [1, 'DecimalSI', -3, '1m'],
    [1000, 'DecimalSI', -3, '1'],
    [1234000, 'DecimalSI', -3, '1234'],
    [1024, 'BinarySI', -3, '1024m'],
    [1048576, 'BinarySI', -3, '1048576m'],
    [1000000, 'DecimalExponent', -3, '1e3'],
    [1, 'DecimalSI', -9, '1n'],
    [1000, 'DecimalSI', -9, '1u'],
    [1000, 'DecimalSI', -6, '1m'],
    [0, 'DecimalSI', -9, '0'],
    [1, 'DecimalSI', -10, '1n'],
  ];
  test.each(cases)('%d as %s × 10^%d is %s', (value, format, exponent, want) => {
    expect(Quantity.of(value, format, exponent).toString()).toBe(want);
  });
  test('milli()', () => {
    expect(Quantity.ofMilli(1500).toString()).toBe('1500m');
  });
});

describe('values', () => {
  const scaled: ReadonlyArray<readonly [number, number, bigint]> = [
    [-9, -9, 1n],
    [-9, -6, 1n],
    [-9, -3, 1n],
    [-9, 0, 1n],
    [-6, -9, 1000n],
    [-6, -3, 1n],
    [-3, -9, 1000000n],
    [-3, -6, 1000n],
    [-3, 0, 1n],
    [0, -9, 1000000000n],
    [0, -6, 1000000n],
    [0, -3, 1000n],
    [0, 0, 1n],
    [2, -2, 10000n],
    [0, -12, 10n ** 12n],
  ];
  test.each(scaled)('1 × 10^%d in steps of 10^%d', (from, to, want) => {
    expect(Quantity.of(1, 'DecimalSI', from).scaledValue(to)).toBe(want);
    expect(Quantity.of(-1, 'DecimalSI', from).scaledValue(to)).toBe(-want);
  });

  const whole: ReadonlyArray<readonly [string, bigint, bigint]> = [
    ['1500m', 2n, 1500n],
    ['1499999u', 2n, 1500n],
    ['1.5Gi', 1610612736n, 1610612736000n],
    ['-1500m', -2n, -1500n],
    ['1n', 1n, 1n],
    ['12E', 12n * 10n ** 18n, 12n * 10n ** 21n],
  ];
  test.each(whole)('%s', (text, value, milliValue) => {
    expect([q(text).value(), q(text).milliValue()]).toEqual([value, milliValue]);
  });

  const rounded: ReadonlyArray<readonly [number, string]> = [
    [-3, '9010m'],
    [-2, '9010m'],
    [-1, '9100m'],
    [0, '10'],
    [1, '10'],
    [2, '100'],
  ];
  test.each(rounded)('9.01 rounded to 10^%d is %s', (exponent, want) => {
    expect(q('9.01').roundUp(exponent).toString()).toBe(want);
    expect(q('-9.01').roundUp(exponent).toString()).toBe(`-${want}`);
  });

  const floats: ReadonlyArray<readonly [string, number]> = [
    ['0', 0],
    ['1', 1],
    ['2Ki', 2048],
    ['1.1Ki', 1126.4],
    ['1Mi', 1048576],
    ['2Gi', 2147483648],
    ['734003.2', 734003.2],
    ['0.07340032', 0.07340032],
    ['9Ei', 2 ** 63],
    ['12E', 1.2e19],
    ['12e500', Number.POSITIVE_INFINITY],
    ['-12e500', Number.NEGATIVE_INFINITY],
    ['100m', 0.1],
  ];
  test.each(floats)('%s is near %d', (text, want) => {
    expect(q(text).toNumber()).toBe(want);
  });
});

describe('compare', () => {
  const cases: ReadonlyArray<readonly [Quantity, Quantity, number]> = [
    [q('0'), q('0'), 0],
    [q('0Ki'), q('0m'), 0],
    [q('100m'), q('50m'), 1],
    [q('10000T'), q('100Gi'), 1],
    [q('9.01'), q('9.01'), 0],
    [q('9.0'), q('9.01'), -1],
    [q('800m'), q('1'), -1],
    [q('800m'), q('790m'), 1],
    [q('1Ki'), q('1024'), 0],
    [q('1Ki'), q('1k'), 1],
    [q('-10'), q('0'), -1],
    [Quantity.of(maxInt64), q('100m'), 1],
    [Quantity.of(maxInt64, 'DecimalSI', 1), q('1'), 1],
    [Quantity.of(minInt64), q('0'), -1],
    [Quantity.of(10n ** 18n + 1n, 'DecimalSI', -8), Quantity.of(1, 'DecimalSI', 10), 1],
    [Quantity.of(10n ** 18n - 1n, 'DecimalSI', -8), Quantity.of(1, 'DecimalSI', 10), -1],
  ];
  test.each(cases)('%s and %s: %d', (a, b, want) => {
    expect([a.cmp(b), b.cmp(a), a.equals(b)]).toEqual([want, want === 0 ? 0 : -want, want === 0]);
  });
  test('sign', () => {
    expect([q('-1n').sign(), q('0').sign(), q('1n').sign()]).toEqual([-1, 0, 1]);
    expect([q('0Gi').isZero(), q('1n').isZero()]).toEqual([true, false]);
  });
  test('max', () => {
    expect(maxQuantity(q('1Gi'), q('1G')).toString()).toBe('1Gi');
    expect(maxQuantity(q('1Ki'), q('1024')).toString()).toBe('1Ki');
    expect(maxQuantity(q('1024'), q('1Ki')).toString()).toBe('1024');
  });
});

describe('arithmetic', () => {
  const sums: ReadonlyArray<readonly [string, string, string, string]> = [
    ['10', '1e1', '20', '0'],
    ['10k', '1Ki', '11024', '8976'],
    ['10Ki', '1k', '11240', '9240'],
    ['0', '100m', '100m', '-100m'],
    ['100m', '0', '100m', '100m'],
    ['0', '1Gi', '1Gi', '-1Gi'],
    ['1Gi', '0', '1Gi', '1Gi'],
    ['0', '0', '0', '0'],
    ['1000m', '1', '2', '0'],
    ['1Gi', '512Mi', '1536Mi', '512Mi'],
    ['0.1', '0.2', '300m', '-100m'],
    ['9223372036854775807', '1', '9223372036854775808', '9223372036854775806'],
  ];
  test.each(sums)('%s and %s: sum %s, difference %s', (a, b, sum, difference) => {
    expect([q(a).add(q(b)).toString(), q(a).sub(q(b)).toString()]).toEqual([sum, difference]);
  });

  const products: ReadonlyArray<readonly [bigint, bigint | number]> = [
    [10n, 10],
    [10n, 1],
    [0n, 50],
    [50n, 0],
    [10n, -10],
    [-50n, -50],
    [maxInt64, 0],
    [maxInt64, -1],
    [maxInt64, 2],
    [minInt64, -1n],
    [minInt64, 10],
  ];
  test.each(products)('%d × %d', (a, b) => {
    expect(Quantity.of(a).mul(b).value()).toBe(a * BigInt(b));
  });

  test('keeps the format in products and negations', () => {
    expect([q('1Ki').mul(3).toString(), q('1Ki').neg().toString(), q('0').neg().toString()]).toEqual([
      '3Ki',
      '-1Ki',
      '0',
    ]);
  });

  test('mutates nothing', () => {
    const a = q('9.01');
    expect([a.add(q('1')), a.neg(), a.mul(2)].map(String)).toEqual(['10010m', '-9010m', '18020m']);
    expect(a.nanos).toBe(9_010_000_000n);
  });
});

describe('properties', () => {
  const format = fc.constantFrom<QuantityFormat>('DecimalSI', 'BinarySI', 'DecimalExponent');
  const binary = fc
    .tuple(fc.bigInt(-1024n, 1024n), fc.integer({ min: 0, max: 6 }))
    .map(([value, step]) => Quantity.of(value << BigInt(10 * step), 'BinarySI'));
  const decimal = fc
    .tuple(fc.bigInt(minInt64, maxInt64), format, fc.integer({ min: -10, max: 12 }))
    .map(([value, how, exponent]) => Quantity.of(value, how, exponent));
  const any = fc.oneof(decimal, binary);

  test('parses its own output, and formats it identically', () => {
    // Parsing caps binary amounts at 2^63 - 1, so only smaller ones round-trip.
    const readable = any.filter((a) => a.format !== 'BinarySI' || (a.neg().cmp(max) <= 0 && a.cmp(max) <= 0));
    fc.assert(
      fc.property(readable, (a) => {
        const text = a.toString();
        const back = Quantity.parse(text);
        expect(back.nanos).toBe(a.nanos);
        // An amount without a suffix is parsed as decimal, and 10000 is then formatted as 10k.
        if (back.format === a.format) expect(back.toString()).toBe(text);
      }),
    );
  });

  test('parses and round-trips any text, or rejects it as invalid', () => {
    const unit = fc.constantFrom(...Array.from('0123456789.+-eEinumkKMGTP '));
    const text = fc.string({ unit, maxLength: 24 });
    fc.assert(
      fc.property(text, (given) => {
        let read: Quantity;
        try {
          read = Quantity.parse(given);
        } catch (err) {
          expect(isKind(err, 'invalid')).toBe(true);
          return;
        }
        expect(Quantity.parse(read.toString()).nanos).toBe(read.nanos);
      }),
      { numRuns: 1000 },
    );
  });

  test('formats without a fraction and as short as possible', () => {
    fc.assert(
      fc.property(any, (a) => {
        expect(a.toString()).toMatch(/^-?\d+([numkMGTPE]|[KMGTPE]i|e-?\d+)?$/);
      }),
    );
  });

  test('subtraction inverts addition', () => {
    fc.assert(
      fc.property(any, any, (a, b) => {
        expect(a.add(b).sub(b).nanos).toBe(a.nanos);
        expect(a.add(b).nanos).toBe(b.add(a).nanos);
        expect(a.sub(b).nanos).toBe(b.sub(a).neg().nanos);
      }),
    );
  });

  test('compare is a total order that agrees with subtraction', () => {
    fc.assert(
      fc.property(any, any, any, (a, b, c) => {
        expect(a.cmp(b)).toBe(a.sub(b).sign());
        const sorted = [a, b, c].sort((x, y) => x.cmp(y));
        expect(sorted[0]?.cmp(sorted[2] ?? a)).not.toBe(1);
      }),
    );
  });

  test('rounds up by less than one step', () => {
    fc.assert(
      fc.property(any, fc.integer({ min: -9, max: 3 }), (a, exponent) => {
        const gap = a.roundUp(exponent).sub(a);
        expect(gap.sign() * a.sign()).toBeGreaterThanOrEqual(0);
        expect(gap.cmp(Quantity.of(1, 'DecimalSI', exponent))).toBe(-1);
      }),
    );
  });
});
