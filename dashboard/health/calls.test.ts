import { expect, test } from 'vitest';
import { callRows } from './calls.ts';

test('puts the oldest call first and marks what hangs', () => {
  const call = (method: string, sinceMs: number) => ({ to: 'runtime', method, sinceMs }) as const;
  const rows = callRows([call('Status', 20_000), call('StopContainer', 1_000), call('Late', 99_000)], 21_000);
  expect(rows.map(({ ageMs, call, isHanging }) => [call.method, ageMs, isHanging])).toEqual([
    ['StopContainer', 20_000, true],
    ['Status', 1_000, false],
    ['Late', 0, false],
  ]);
});
