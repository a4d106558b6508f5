import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LogRing } from './log-ring.ts';
import { compile, match } from './matcher.ts';
import type { SearchRequest } from './search-protocol.ts';
import { type CreateSearchWorker, limitMs, Searcher, tooSlow } from './searcher.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A worker that answers in the next turn, unless it hangs. */
function bench(hangs = false) {
  const ring = new LogRing();
  const requests: SearchRequest[] = [];
  let terminated = 0;
  const createWorker: CreateSearchWorker = (onAnswer) => ({
    terminate: () => void terminated++,
    post: (request) => {
      requests.push(request);
      if (hangs || request.do !== 'match') return;
      const compiled = compile(request.pattern);
      if ('problem' in compiled) throw new Error(compiled.problem);
      const found = request.texts.flatMap((text, index) => {
        const ranges = match(compiled.expression, text);
        return ranges === undefined ? [] : [[request.first + index, ranges] as const];
      });
      setTimeout(() => onAnswer({ is: 'matched', found }), 1);
    },
  });
  const searcher = new Searcher({ createWorker, lines: ring, onChange: () => undefined });
  const write = (...texts: readonly string[]): void => {
    for (const x of texts) ring.push({ c: 0, t: '', x });
    searcher.poke();
  };
  return { ring, searcher, write, requests, terminated: () => terminated };
}

test('finds the lines that are there and those that arrive', () => {
  const { searcher, write } = bench();
  write('one', 'two', 'three');
  searcher.search('t');
  vi.advanceTimersByTime(10);
  write('four', 'eight');
  vi.advanceTimersByTime(10);
  expect(searcher.numbers()).toEqual([1, 2, 4]);
  expect(searcher.ranges(4)).toEqual([4, 5]);
});

test('sends large batches one after the other', () => {
  const { requests, searcher, write } = bench();
  write(...Array.from({ length: 5_000 }, (_, index) => String(index)));
  searcher.search('9');
  expect(requests).toHaveLength(1);
  vi.advanceTimersByTime(10);
  expect(requests).toHaveLength(3);
  expect(searcher.searched).toBe(5_000);
});

test('terminates a worker that does not answer, and reports it', () => {
  const { searcher, terminated, write } = bench(true);
  write('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!');
  searcher.search('(a+)+$');
  vi.advanceTimersByTime(limitMs);
  expect([terminated(), searcher.problem, searcher.isActive]).toEqual([1, tooSlow, false]);
  write('more');
  expect(terminated()).toBe(1);
});

test('an invalid expression is a message, and starts no worker', () => {
  const { requests, searcher, write } = bench();
  write('x');
  searcher.search('(');
  expect(searcher.problem).toContain('Invalid regular expression');
  expect(requests).toEqual([]);
  searcher.search('x');
  vi.advanceTimersByTime(10);
  expect([searcher.problem, searcher.count]).toEqual(['', 1]);
});

test('forgets the matches of dropped lines', () => {
  const { ring, searcher, write } = bench();
  searcher.search('x');
  for (let index = 0; index < 30; index++) {
    write(...Array.from({ length: 1_000 }, () => 'x'));
    vi.advanceTimersByTime(10);
  }
  expect(searcher.count).toBe(ring.size);
});
