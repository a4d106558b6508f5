import { describe, expect, test } from 'vitest';
import { milliCpuToQuotaUs, milliCpuToShares, sharesToWeight, weightToShares } from './cpu-shares.ts';

describe('milliCpuToShares', () => {
  for (const [milli, shares] of [
    [0n, 2n],
    [1n, 2n],
    [2n, 2n],
    [100n, 102n],
    [250n, 256n],
    [1000n, 1024n],
    [256_000n, 262_144n],
    [1_000_000n, 262_144n],
  ] as const) {
    test(`${milli}m`, () => expect(milliCpuToShares(milli)).toBe(shares));
  }
});

describe('milliCpuToQuotaUs', () => {
  for (const [milli, period, quota] of [
    [0n, 100_000n, 0n],
    [1n, 100_000n, 1000n],
    [9n, 100_000n, 1000n],
    [10n, 100_000n, 1000n],
    [200n, 100_000n, 20_000n],
    [1500n, 100_000n, 150_000n],
    [200n, 5_000n, 1000n],
  ] as const) {
    test(`${milli}m in ${period} µs`, () => expect(milliCpuToQuotaUs(milli, period)).toBe(quota));
  }
});

describe('sharesToWeight', () => {
  for (const [shares, weight] of [
    [2n, 1n],
    [102n, 4n],
    [1024n, 39n],
    [2048n, 79n],
    [262_144n, 10_000n],
    [300_000n, 10_000n],
  ] as const) {
    test(`${shares}`, () => expect(sharesToWeight(shares)).toBe(weight));
  }
  test('converts back as precisely as the kernel allows', () =>
    expect([1n, 39n, 10_000n].map(weightToShares)).toEqual([2n, 998n, 262_144n]));
});
