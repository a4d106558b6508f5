import { describe, expect, test } from 'vitest';
import { ageText, bytesText, cpuText, parseTime, sinceText, spanText, timeText } from './amounts.ts';

const seconds = (count: number): number => count * 1000;
const ages = [
  [0, '0s'],
  [999, '0s'],
  [seconds(1), '1s'],
  [seconds(119), '119s'],
  [seconds(120), '2m'],
  [seconds(200), '3m20s'],
  [seconds(599), '9m59s'],
  [seconds(600), '10m'],
  [seconds(3 * 3600 - 1), '179m'],
  [seconds(3 * 3600), '3h'],
  [seconds(4 * 3600 + 600), '4h10m'],
  [seconds(8 * 3600), '8h'],
  [seconds(47 * 3600), '47h'],
  [seconds(48 * 3600), '2d'],
  [seconds(76 * 3600), '3d4h'],
  [seconds(8 * 86_400), '8d'],
  [seconds(729 * 86_400), '729d'],
  [seconds(760 * 86_400), '2y30d'],
  [seconds(3300 * 86_400), '9y'],
] as const;
describe('ageText', () => {
  for (const [ms, text] of ages) test(text, () => expect(ageText(ms)).toBe(text));
});

test('sinceText: unknown is empty, and the future is now', () => {
  expect([sinceText(undefined, 5), sinceText(5000, 0), sinceText(0, 5000)]).toEqual(['', '0s', '5s']);
});

test('spans', () => {
  expect([-1, 12.4, 1250, 12_340, 200_000].map(spanText)).toEqual([
    '0 ms',
    '12 ms',
    '1.25 s',
    '12.3 s',
    '3m20s',
  ]);
});

test('times', () => {
  expect(timeText(Date.parse('2026-01-31T12:00:00.123Z'))).toBe('2026-01-31T12:00:00Z');
  expect(timeText(Number.POSITIVE_INFINITY)).toBe('?');
  expect(timeText(Number.NaN)).toBe('?');
  expect([parseTime('x'), parseTime(undefined), parseTime('1970-01-01T00:00:01Z')]).toEqual([
    undefined,
    undefined,
    1000,
  ]);
});

test('amounts', () => {
  expect([0, 1000, 5 * 1024 * 1024, 12 * 1024 ** 3].map(bytesText)).toEqual(['0Ki', '1Ki', '5Mi', '12.0Gi']);
  expect(cpuText(12.6)).toBe('13m');
});
