import { expect, test } from 'vitest';
import { LogRing, maxLines } from './log-ring.ts';
import { VisibleLines } from './visible-lines.ts';

function ringOf(count: number): LogRing {
  const ring = new LogRing();
  for (let index = 0; index < count; index++) ring.push({ c: 0, t: '', x: 'x'.repeat(index % 3) });
  return ring;
}

test('lines of the same height', () => {
  const lines = new VisibleLines(ringOf(10), undefined, 20);
  expect([lines.count, lines.height, lines.topOf(3), lines.indexAt(59), lines.indexAt(60)]).toEqual([
    10, 200, 60, 2, 3,
  ]);
  expect([lines.indexAt(-5), lines.indexAt(1_000), lines.indexOf(50), lines.at(4)?.number]).toEqual([
    0, 9, 9, 4,
  ]);
});

test('wrapped lines: measured heights replace estimates', () => {
  const ring = ringOf(6);
  const estimate = ({ x }: { readonly x: string }): number => 10 * (1 + x.length);
  const lines = new VisibleLines(ring, undefined, 10, estimate);
  expect([0, 1, 2, 3, 4, 5, 6].map((index) => lines.topOf(index))).toEqual([0, 10, 30, 60, 70, 90, 120]);
  expect([0, 9, 10, 29, 30, 119].map((top) => lines.indexAt(top))).toEqual([0, 0, 1, 1, 2, 5]);
  const first = ring.line(0);
  if (first !== undefined) first.height = 50;
  expect(new VisibleLines(ring, undefined, 10, estimate).topOf(1)).toBe(50);
});

test('only the lines that match, without those that were dropped', () => {
  const ring = ringOf(maxLines + 10);
  const lines = new VisibleLines(ring, [3, 9, 10, 500, maxLines], 10);
  expect([0, 1, 2, 3].map((index) => lines.at(index)?.number)).toEqual([10, 500, maxLines, undefined]);
  expect([lines.indexOf(10), lines.indexOf(11), lines.indexOf(500)]).toEqual([0, 1, 1]);
});

test('no lines', () => {
  const lines = new VisibleLines(new LogRing(), undefined, 10, () => 10);
  expect([lines.count, lines.height, lines.indexAt(0), lines.at(0)]).toEqual([0, 0, 0, undefined]);
});
