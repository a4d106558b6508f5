import { describe, expect, test } from 'vitest';
import { computeNextSample, type Sample, takeSample } from './next-sample.ts';

const MiB = 1024 * 1024;
const limit = 10 * MiB;
const sample = (atMs: number, bytes: number): Sample => ({ atMs, bytes, grownAtMs: atMs });
const silent = (atMs: number, bytes: number, forMs: number): Sample => ({
  atMs,
  bytes,
  grownAtMs: atMs - forMs,
});

describe('computeNextSample', () => {
  const cases = [
    ['the limit is reached', sample(0, 0), sample(100, limit), limit, true, { do: 'rotate' }],
    ['beyond the limit at first sight', undefined, sample(0, 3 * limit), limit, true, { do: 'rotate' }],
    ['first sight: measure the rate', undefined, sample(0, 0), limit, true, { do: 'sample', inMs: 50 }],
    ['silent: wait for a write', sample(0, 5), silent(2000, 5, 1000), limit, true, { do: 'watch' }],
    ['silent, no watch', sample(0, 5), silent(2000, 5, 1000), limit, false, { do: 'sample', inMs: 1000 }],
    ['a pause', sample(0, 0), silent(100, 0, 999), limit, true, { do: 'sample', inMs: 195.3125 }],
    ['slow, empty', sample(0, 0), sample(100, MiB), limit, true, { do: 'sample', inMs: 179.6875 }],
    [
      'slow, nearly full',
      sample(0, limit - 2),
      sample(100, limit - 1),
      limit,
      true,
      {
        do: 'sample',
        inMs: 50,
      },
    ],
    [
      '50 MiB/s, half full: when it is full',
      sample(0, 0),
      sample(100, 5 * MiB),
      limit,
      true,
      {
        do: 'sample',
        inMs: 100,
      },
    ],
    ['very fast, nearly full', sample(0, 0), sample(10, 9 * MiB), limit, true, { do: 'sample', inMs: 20 }],
    ['a small limit', sample(0, 1), sample(100, 2), 1024, true, { do: 'sample', inMs: 50 }],
    [
      'truncated by another process',
      sample(0, 9 * MiB),
      sample(100, 0),
      limit,
      true,
      {
        do: 'sample',
        inMs: 195.3125,
      },
    ],
  ] as const;
  for (const [name, before, now, limitBytes, canWatch, want] of cases)
    test(name, () => expect(computeNextSample(before, now, limitBytes, () => canWatch)).toEqual(want));

  /** The largest size when the rotation starts, with a delay of every sample by the event loop. */
  function worst(limitBytes: number, rates: (atMs: number) => number, delayMs: number): number {
    let [atMs, bytes, largest] = [0, 0, 0];
    let before: Sample | undefined;
    while (atMs < 20_000) {
      const now = takeSample(before, atMs, bytes);
      const next = computeNextSample(before, now, limitBytes, () => true);
      before = next.do === 'watch' ? undefined : now;
      if (next.do === 'rotate') {
        largest = Math.max(largest, bytes);
        [bytes, before] = [0, undefined];
        continue;
      }
      const until = next.do === 'watch' ? atMs + 1 : atMs + next.inMs + delayMs;
      for (; atMs < until; atMs++) bytes += rates(atMs);
    }
    return largest;
  }

  const fifty = 50_000;
  const patterns = [
    ['steady', () => fifty],
    ['a burst after silence', (atMs: number) => (atMs < 5_000 ? 0 : fifty)],
    ['a burst after a trickle', (atMs: number) => (atMs % 2_000 < 1_500 ? 10 : fifty)],
    ['a burst just below the limit', (atMs: number) => (atMs < 1_000 ? 10_400 : atMs < 9_000 ? 1 : fifty)],
    ['short bursts', (atMs: number) => (atMs % 130 < 60 ? fifty : 0)],
  ] as const;
  for (const [name, rates] of patterns)
    test(`50 MB/s, ${name}: less than twice the limit`, () => {
      expect(worst(limit, rates, 50)).toBeLessThan(2 * limit);
    });
});
