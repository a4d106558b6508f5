import { describe, expect, test } from 'vitest';
import { judgeClock, judgeSkew } from './clock.ts';

describe('judgeClock', () => {
  const cases = [
    ['2026-06-15', true, 'ok'],
    ['2026-06-15', false, 'warn'],
    ['2026-06-15', undefined, 'warn'],
    ['1970-01-01', true, 'fail'],
    ['2150-01-01', true, 'fail'],
  ] as const;
  for (const [date, isSynchronized, status] of cases)
    test(`${date}, synchronized: ${isSynchronized} → ${status}`, () =>
      expect(judgeClock({ nowMs: Date.parse(date), isSynchronized }).status).toBe(status));
});

describe('judgeSkew', () => {
  const cases = [
    [0, 20, 'ok', 'as that'],
    [4_000, 20, 'ok', 'as that'],
    [8_000, 20, 'warn', '8 s ahead of'],
    [-8_000, 20, 'warn', '8 s behind'],
    [8_000, 4_000, 'ok', 'as that'],
    [3_600_000 * 3, 20, 'fail', '3 h ahead of'],
  ] as const;
  for (const [skewMs, roundTripMs, status, words] of cases)
    test(`${skewMs} ms within ${roundTripMs} ms → ${status}`, () => {
      const dateMs = Date.parse('2026-06-15');
      const value = { status: 200, version: 'v1.37.0', dateMs, nowMs: dateMs + skewMs, roundTripMs };
      const finding = judgeSkew({ isKnown: true, value });
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
  test('without a date there is nothing to compare', () => {
    const value = { status: 200, version: undefined, dateMs: undefined, nowMs: 0, roundTripMs: 1 };
    expect(judgeSkew({ isKnown: true, value }).status).toBe('ok');
    expect(judgeSkew({ isKnown: false, why: 'down' }).status).toBe('ok');
  });
});
