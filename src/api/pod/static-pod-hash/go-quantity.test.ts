import { describe, expect, test } from 'vitest';
import {
  addGoQuantities,
  maxGoQuantity,
  printQuantity,
  readGoQuantity,
  roundUpToMillis,
} from './go-quantity.ts';

/** `value e scale`, w for a wide decimal, the cached text and the format. */
function shown(quantity: ReturnType<typeof readGoQuantity>): string {
  const { value, scale, wide, text, format } = quantity;
  return `${value}e${scale}${wide ? 'w' : ''} [${text}] ${format}`;
}

describe('readGoQuantity', () => {
  const cases = [
    ['0', '0e0 [0] DecimalSI'],
    ['100m', '100e-3 [100m] DecimalSI'],
    ['0.5', '5e-1 [] DecimalSI'],
    ['1000', '1000e0 [] DecimalSI'],
    ['100Mi', '104857600e0 [100Mi] BinarySI'],
    ['256Mi', '268435456e0 [] BinarySI'],
    ['1.5Gi', '1610612736000000000e-9w [] BinarySI'],
    ['0.0Gi', '0e-1w [] BinarySI'],
    ['9Ei', '9223372036854775807e0w [] BinarySI'],
    ['-9Ei', '-9223372036854775807e0w [] BinarySI'],
    ['  3 ', '3e0 [3] DecimalSI'],
    [1e21, '1e21 [1e+21] DecimalExponent'],
    [null, '0e0 [] '],
    [undefined, '0e0 [] '],
  ] as const;
  test.each(cases)('%s', (json, want) => {
    expect(shown(readGoQuantity(json))).toBe(want);
  });
});

describe('roundUpToMillis', () => {
  const cases = [
    ['100m', '100e-3 [100m] DecimalSI'],
    ['5n', '1e-3 [] DecimalSI'],
    ['-5n', '-1e-3 [] DecimalSI'],
    ['1500u', '2e-3 [] DecimalSI'],
    ['1.5Gi', '1610612736000e-3w [] BinarySI'],
    ['9Ei', '9223372036854775807000e-3w [] BinarySI'],
  ] as const;
  test.each(cases)('%s', (json, want) => {
    expect(shown(roundUpToMillis(readGoQuantity(json)))).toBe(want);
  });
});

describe('addGoQuantities', () => {
  const cases = [
    ['100m', '200m', '300e-3 [] DecimalSI'],
    ['0.25', '250m', '500e-3 [] DecimalSI'],
    ['0', '1Gi', '1073741824e0 [] BinarySI'],
    ['1Gi', '0', '1073741824e0 [] BinarySI'],
    ['1', '1.5Mi', '1572865000000000e-9w [] DecimalSI'],
    ['5E', '5E', '10e18 [] DecimalSI'],
    ['5E', '1m', '5000000000000000000001e-3w [] DecimalSI'],
  ] as const;
  test.each(cases)('%s + %s', (one, other, want) => {
    expect(shown(addGoQuantities(readGoQuantity(one), readGoQuantity(other)))).toBe(want);
  });
});

describe('maxGoQuantity', () => {
  const cases = [
    ['1', '1000m', '1e0 [1] DecimalSI'],
    ['1', '2', '2e0 [2] DecimalSI'],
    ['2', '1.5Ki', '1536000000000e-9w [] BinarySI'],
    ['1.5Ki', '2k', '2e3w [2k] DecimalSI'],
  ] as const;
  test.each(cases)('%s or %s', (one, other, want) => {
    expect(shown(maxGoQuantity(readGoQuantity(one), readGoQuantity(other)))).toBe(want);
  });
});

test('prints a wide decimal in 64-bit words, with the inverse power of ten', () => {
  expect(printQuantity(readGoQuantity('-100000000000000000000'))).toBe(
    '{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} d:(resource.infDecAmount){Dec:(*inf.Dec)' +
      '{unscaled:(big.Int){neg:(bool)true abs:(big.nat)[7886392056514347008 5421010862]} scale:(inf.Scale)9}}' +
      ' s:(string) Format:(resource.Format)DecimalSI}',
  );
});
