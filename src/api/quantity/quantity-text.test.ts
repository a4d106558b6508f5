import { describe, expect, test } from 'vitest';
import { isKind } from '../../base/errors.ts';
import { Quantity, type QuantityFormat } from './quantity.ts';
import { readQuantity, scaledNanos, writeQuantity } from './quantity-text.ts';

const ki = 1024n;
const maxInt64 = 2n ** 63n - 1n;
const si = 'DecimalSI';
const bin = 'BinarySI';
const exp = 'DecimalExponent';

/** Text, mantissa, decimal exponent, format. */
const readings: ReadonlyArray<readonly [string, bigint | number, number, QuantityFormat]> = [
  // Zero with every suffix.
  ...['0', '0n', '0u', '0m', '0k', '0M', '0G', '0T', '00', '000', '.0', '0.'].map(
    (text) => [text, 0, 0, si] as const,
  ),
  ...['0Ki', '0Mi', '0Gi', '0Ti', '0Pi', '0Ei'].map((text) => [text, 0, 0, bin] as const),
  ['0.0000000000', 0, 0, si],
  ['1', 1, 0, si],
  // Binary suffixes.
  ['1Ki', 1024, 0, bin],
  ['8Ki', 8192, 0, bin],
  ['7Mi', 7n * ki ** 2n, 0, bin],
  ['6Gi', 6n * ki ** 3n, 0, bin],
  ['5Ti', 5n * ki ** 4n, 0, bin],
  ['4Pi', 4n * ki ** 5n, 0, bin],
  ['3Ei', 3n * ki ** 6n, 0, bin],
  ['10Ti', 10n * ki ** 4n, 0, bin],
  ['100Ti', 100n * ki ** 4n, 0, bin],
  // Decimal suffixes.
  ['5n', 5, -9, si],
  ['4u', 4, -6, si],
  ['3m', 3, -3, si],
  ['9', 9, 0, si],
  ['8k', 8, 3, si],
  ['50k', 5, 4, si],
  ['7M', 7, 6, si],
  ['6G', 6, 9, si],
  ['5T', 5, 12, si],
  ['40T', 4, 13, si],
  ['300T', 3, 14, si],
  ['2P', 2, 15, si],
  ['1E', 1, 18, si],
  ['12E', 12, 18, si],
  // Exponents.
  ['1E-3', 1, -3, exp],
  ['1e3', 1, 3, exp],
  ['1E6', 1, 6, exp],
  ['1e9', 1, 9, exp],
  ['1E12', 1, 12, exp],
  ['1e13', 1, 13, exp],
  ['1e14', 1, 14, exp],
  ['1e15', 1, 15, exp],
  ['1E18', 1, 18, exp],
  ['1e1000', 1, 1000, exp],
  // Fractions.
  ['100.035k', 100035, 0, si],
  ['0.001', 1, -3, si],
  ['0.0005k', 5, -1, si],
  ['0.005', 5, -3, si],
  ['0.05', 5, -2, si],
  ['0.5', 5, -1, si],
  ['0.00050k', 5, -1, si],
  ['0.00500', 5, -3, si],
  ['0.05000', 5, -2, si],
  ['0.50000', 5, -1, si],
  ['0.5e0', 5, -1, exp],
  ['0.5e-1', 5, -2, exp],
  ['0.5e-2', 5, -3, exp],
  ['10.035M', 10035, 3, si],
  ['1.2e3', 12, 2, exp],
  ['1.3E+6', 13, 5, exp],
  ['1.40e9', 14, 8, exp],
  ['1.53E12', 153, 10, exp],
  ['1.6e15', 16, 14, exp],
  ['1.7E18', 17, 17, exp],
  ['9.01', 901, -2, si],
  ['8.1k', 81, 2, si],
  ['7.123456M', 7123456, 0, si],
  ['6.987654321G', 6987654321, 0, si],
  ['5.444T', 5444, 9, si],
  ['40.1T', 401, 11, si],
  ['300.2T', 3002, 11, si],
  ['2.5P', 25, 14, si],
  ['1.01E', 101, 16, si],
  // Rounded away from zero, or capped.
  ['3.001n', 4, -9, si],
  ['1.1E-9', 2, -9, exp],
  ['0.0000000001', 1, -9, si],
  ['0.0000000005', 1, -9, si],
  ['0.00000000050', 1, -9, si],
  ['0.5e-9', 1, -9, exp],
  ['1e-1000', 1, -9, exp],
  ['0.9n', 1, -9, si],
  ['0.00000012345', 124, -9, si],
  ['0.00000012354', 124, -9, si],
  ['8Ei', maxInt64, 0, bin],
  ['9Ei', maxInt64, 0, bin],
  ['9223372036854775807Ki', maxInt64, 0, bin],
  ['9223372036854775807', maxInt64, 0, si],
  ['9223372036854775808', maxInt64 + 1n, 0, si],
  // Fractions with binary suffixes.
  ['100.035Ki', 10243584, -2, bin],
  ['0.5Mi', 524288, 0, bin],
  ['0.05Gi', 536870912, -1, bin],
  ['0.025Ti', 274877906944, -1, bin],
  ['1.025Ti', 11269994184704n, -1, bin],
  // Unusual spellings.
  ['0.000000000001Ki', 2, -9, si],
  ['0.0001Ki', 1024, -4, si],
  ['.001', 1, -3, si],
  ['.0001k', 100, -3, si],
  ['1.', 1, 0, si],
  ['1.G', 1, 9, si],
  ['.', 0, 0, si],
  ['m', 0, 0, si],
  ['Ki', 0, 0, bin],
  ['e5', 0, 0, exp],
];

describe('readQuantity', () => {
  test.each(readings)('%j', (text, mantissa, exponent, format) => {
    const nanos = scaledNanos(BigInt(mantissa), exponent);
    expect(readQuantity(text)).toMatchObject({ nanos, format });
    expect(readQuantity(`+${text}`)).toMatchObject({ nanos, format });
    expect(readQuantity(`-${text}`)).toMatchObject({ nanos: -nanos, format });
  });

  const malformed = ['', ' 1', '1 ', '1\n', '1.1.M', '1+1.0M', '--1', '+-1', '1,5', '0x10', '1e1.5', '١'];
  const unknownSuffix = [
    '0.1mi',
    '0.1am',
    'aoeu',
    '.5i',
    '1i',
    '-3.01i',
    '-3.01e-',
    '1e',
    '1ee3',
    '1Ki5',
    '1K',
  ];
  const unknownUnit = ['1Kb', '1kB', '1eM', 'Non-Numeric'];
  // Without a digit, and too wide for the fast path.
  const digitless = ['Pi', '-.Ei', 'e-10'];
  const tooFar = ['1e1001', '1e-1001', '1e99999999999999999999', '1'.repeat(1025)];
  const wrong = [...malformed, ...unknownSuffix, ...unknownUnit, ...digitless, ...tooFar];
  test.each(wrong)('rejects %j', (text) => {
    let caught: unknown;
    try {
      readQuantity(text);
    } catch (err) {
      caught = err;
    }
    expect(isKind(caught, 'invalid')).toBe(true);
  });

  test('bounds the error message', () => {
    expect(() => readQuantity('x'.repeat(5000))).toThrow(/^.{1,160}$/);
  });

  test('returns the int64 form of upstream', () => {
    expect(readQuantity('1.5k').small).toEqual({ value: 15n, scale: 2 });
    expect(readQuantity('-2Mi').small).toEqual({ value: -2097152n, scale: 0 });
    expect(readQuantity('1Pi').small).toBeUndefined();
    expect(readQuantity('1.5Gi').small).toBeUndefined();
    expect(readQuantity('0.1n').small).toBeUndefined();
    expect(readQuantity('1234567890123456789').small).toBeUndefined();
  });
});

describe('writeQuantity', () => {
  /** Mantissa, decimal exponent, format, canonical form, another spelling of the same amount. */
  const writings: ReadonlyArray<readonly [bigint | number, number, QuantityFormat, string, string?]> = [
    [ki ** 3n, 0, bin, '1Gi', '1024Mi'],
    [300n * ki ** 2n, 0, bin, '300Mi', '307200Ki'],
    [6144, 0, bin, '6Ki'],
    [1001n * ki ** 3n, 0, bin, '1001Gi', '1025024Mi'],
    [ki ** 4n, 0, bin, '1Ti', '1024Gi'],
    [5, 0, bin, '5', '5000m'],
    [500, -3, bin, '500m', '0.5'],
    [1023, 0, bin, '1023'],
    [1024, 0, bin, '1Ki'],
    [1025, 0, bin, '1025'],
    [1234567, -3, bin, '1234567m'],
    [maxInt64, 0, bin, '9223372036854775807', '9Ei'],
    [1, 9, si, '1G', '1000M'],
    [1000, 6, si, '1G', '0.001T'],
    [1000000, 3, si, '1G'],
    [1, -3, si, '1m', '1000u'],
    [80, -3, si, '80m'],
    [1080, -3, si, '1080m', '1.08'],
    [108, -2, si, '1080m', '1080000000n'],
    [10800, -4, si, '1080m'],
    [300, 6, si, '300M'],
    [1, 12, si, '1T'],
    [1234567, 6, si, '1234567M'],
    [3, 3, si, '3k'],
    [1, -9, si, '1n'],
    [80, -9, si, '80n'],
    [108, -8, si, '1080n'],
    [1, -6, si, '1u'],
    [1080, -6, si, '1080u'],
    [1000, 18, si, '1000E', '1000E'],
    [0, 0, si, '0', '0m'],
    [0, 0, bin, '0', '0Ki'],
    [0, 0, exp, '0', '00'],
    [1, 9, exp, '1e9', '.001e12'],
    [1, -3, exp, '1e-3', '0.001e0'],
    [1, -9, exp, '1e-9', '1000e-12'],
    [80, -3, exp, '80e-3'],
    [300, 6, exp, '300e6'],
    [1, 12, exp, '1e12'],
    [15, -1, exp, '1500e-3'],
    [7, 0, exp, '7'],
    [1, 30, exp, '1e30'],
  ];
  for (const [mantissa, exponent, format, want, other] of writings) {
    test(`${mantissa} × 10^${exponent} as ${format} is ${want}`, () => {
      const nanos = scaledNanos(BigInt(mantissa), exponent);
      expect(writeQuantity(nanos, format)).toBe(want);
      if (nanos !== 0n) expect(writeQuantity(-nanos, format)).toBe(`-${want}`);
      expect(readQuantity(want).nanos).toBe(nanos);
      if (other !== undefined) expect(Quantity.parse(other).toString()).toBe(want);
    });
  }

  test('keeps the largest suffix for a larger sum', () => {
    expect(Quantity.parse('1Ei').mul(1024).toString()).toBe('1024Ei');
    expect(Quantity.parse('1E').mul(1000).toString()).toBe('1000E');
  });
});

describe('parsed text is formatted again', () => {
  const cases = [
    ['1Ki', '1Ki'],
    ['1Mi', '1Mi'],
    ['1024Mi', '1Gi'],
    ['1000M', '1G'],
    ['.001Ki', '1024m'],
    ['.000001Ki', '1024u'],
    ['.000000001Ki', '1024n'],
    ['.000000000001Ki', '2n'],
    ['1.5Gi', '1536Mi'],
    ['0.5', '500m'],
    ['1.5', '1500m'],
    ['2000m', '2'],
    // Upstream's fast path treats these as canonical and keeps them unchanged.
    ['1.125', '1.125'],
    ['1.234k', '1.234k'],
    ['1E3', '1E3'],
    ['1e+3', '1e+3'],
    ['007', '007'],
    ['1.Ki', '1.Ki'],
  ] as const;
  test.each(cases)('%s as %s', (text, want) => {
    expect(Quantity.parse(text).toString()).toBe(want);
    expect(Quantity.parse(`-${text}`).toString()).toBe(`-${want}`);
  });

  test('keeps a redundant sign', () => {
    expect(Quantity.parse('+5').toString()).toBe('+5');
    expect(Quantity.parse('-0').toString()).toBe('0');
  });

  test('drops the original text after arithmetic', () => {
    expect(Quantity.parse('1.125').add(Quantity.zero).toString()).toBe('1125m');
    expect(Quantity.parse('+5').neg().neg().toString()).toBe('5');
  });
});
