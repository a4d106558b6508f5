import { expect, test } from 'vitest';
import { LogRing, maxLines } from './log-ring.ts';

const line = (x: string) => ({ c: 0, t: '', x });

test('keeps the newest lines with their numbers', () => {
  const ring = new LogRing();
  for (let index = 0; index < 3 * maxLines; index++) ring.push(line(String(index)));
  expect([ring.size, ring.first, ring.next, ring.isFull]).toEqual([
    maxLines,
    2 * maxLines,
    3 * maxLines,
    true,
  ]);
  expect(ring.line(2 * maxLines - 1)).toBeUndefined();
  expect(ring.line(2 * maxLines)?.x).toBe(String(2 * maxLines));
  expect(ring.since(3 * maxLines - 2).map(({ x }) => Number(x))).toEqual([
    3 * maxLines - 2,
    3 * maxLines - 1,
  ]);
  expect(ring.since(0)).toHaveLength(maxLines);
});

test('keeps at most 8 MiB', () => {
  const ring = new LogRing();
  const long = 'x'.repeat(16 * 1024);
  for (let index = 0; index < 1_000; index++) ring.push(line(long));
  expect(ring.size * long.length * 2).toBeLessThanOrEqual(8 * 1024 * 1024);
  expect(ring.line(999)?.number).toBe(999);
});
