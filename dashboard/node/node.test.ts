import { expect, test } from 'vitest';
import { bytes } from '../text/format.ts';
import { certificateTone, certificateWords, daysLeft } from './certificates.ts';
import { ofSignal, thresholdNote } from './thresholds.ts';

const dayMs = 86_400_000;

test.each([
  [31 * dayMs, 31, 'good', '31 days'],
  [30 * dayMs - 1, 29, 'busy', '29 days'],
  [7 * dayMs, 7, 'busy', '7 days'],
  [7 * dayMs - 1, 6, 'bad', '6 days'],
  [dayMs, 1, 'bad', '1 day'],
  [-1, -1, 'bad', 'expired'],
])('a certificate that is valid for %i ms more has %i days left: %s, %s', (ms, days, tone, words) => {
  expect(daysLeft(5 + ms, 5)).toBe(days);
  expect([certificateTone(days), certificateWords(days)]).toEqual([tone, words]);
});

test('names thresholds, the first to be reached first, and only those of the signal', () => {
  const marks = [
    { kind: 'hard', signal: 'memory.available', available: 104_857_600 },
    { kind: 'soft', signal: 'memory.available', available: 524_288_000 },
    { kind: 'hard', signal: 'allocatableMemory.available', available: 1 },
  ] as const;
  const own = ofSignal(marks, 'memory.available');
  expect(thresholdNote(own, bytes)).toBe('Evicts below 500 MiB (soft), 100 MiB (hard)');
  expect(thresholdNote([], bytes)).toBe('No eviction threshold');
});
