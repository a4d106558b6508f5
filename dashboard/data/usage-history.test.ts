import { expect, test } from 'vitest';
import type { UsageSample } from '../../src/api/ports/node-page.ts';
import { nodeKey, UsageHistory } from './usage-history.ts';

function sample(second: number, pods: UsageSample['pods'] = {}): UsageSample {
  return { atMs: second * 1000, node: [second, second * 10], pods };
}

test('returns the newest values, oldest first', () => {
  const history = new UsageHistory();
  history.reset([sample(1), sample(2, { a: [5, 50] }), sample(3, { a: [null, 60] })]);
  expect(Array.from(history.times())).toEqual([1000, 2000, 3000]);
  expect(Array.from(history.values(nodeKey, 'cpu', 2))).toEqual([2, 3]);
  expect(Array.from(history.values('a', 'cpu'))).toEqual([Number.NaN, 5, Number.NaN]);
  expect(Array.from(history.values('a', 'memory'))).toEqual([Number.NaN, 50, 60]);
  expect([history.now('a', 'memory'), history.now('a', 'cpu'), history.now('b', 'cpu')]).toEqual([
    60,
    Number.NaN,
    Number.NaN,
  ]);
});

test('keeps 300 samples and forgets pods that are in none of them', () => {
  const history = new UsageHistory();
  history.push(sample(1, { gone: [1, 1] }));
  for (let second = 2; second <= 301; second += 1) history.push(sample(second));
  expect(history.length).toBe(300);
  expect(history.times()[0]).toBe(2000);
  expect(Array.from(history.values('gone', 'cpu')).every(Number.isNaN)).toBe(true);
  expect(history.values(nodeKey, 'cpu', 1)[0]).toBe(301);
});

test('takes a sample once that came twice', () => {
  const history = new UsageHistory();
  history.reset([sample(1), sample(2)]);
  history.push(sample(2));
  expect(history.length).toBe(2);
});

test('a reset drops what earlier connections sent', () => {
  const history = new UsageHistory();
  history.reset([sample(1, { a: [1, 1] })]);
  history.reset([sample(9)]);
  expect(Array.from(history.times())).toEqual([9000]);
  expect(history.now('a', 'cpu')).toBeNaN();
});

test.each([
  ['nothing: the view has changed, without another viewer', [], [1000, 2000]],
  ['only later samples', [3, 4], [1000, 2000, 3000, 4000]],
  ['samples that it knows and a later one', [2, 3], [1000, 2000, 3000]],
  ['earlier samples: those are all', [0, 1, 2], [0, 1000, 2000]],
  ['samples after a long gap', [18], [18_000]],
])('continues with what a new connection to the same process sends: %s', (_what, seconds, times) => {
  const history = new UsageHistory();
  history.reset([sample(1), sample(2)]);
  history.continueWith(seconds.map((second) => sample(second)));
  expect(Array.from(history.times())).toEqual(times);
});
