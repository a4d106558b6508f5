import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FoundLine, SearchAnswer, SearchRequest } from './search-protocol.ts';
import { limitMs, tooSlow } from './searcher.ts';
import { WholeScan } from './whole-scan.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function bench() {
  const requests: SearchRequest[] = [];
  let answer: (answer: SearchAnswer) => void = () => undefined;
  let terminated = 0;
  const scan = new WholeScan('x', ['a', 'b'], {
    createWorker: (onAnswer) => {
      answer = onAnswer;
      return { post: (request) => void requests.push(request), terminate: () => void terminated++ };
    },
    urlOf: (container) => `logs/${container}`,
    token: undefined,
    onChange: () => undefined,
  });
  scan.start();
  return { scan, requests, answer: (value: SearchAnswer) => answer(value), terminated: () => terminated };
}

const line = (text: string): FoundLine => ({ container: 'a', time: '', text });

test('reads the containers one after the other, and reports a log that cannot be read', () => {
  const { answer, requests, scan, terminated } = bench();
  answer({ is: 'busy' });
  answer({ is: 'progress', bytes: 7, found: [line('x')] });
  answer({ is: 'done', problem: 'a: no log' });
  expect(requests.map((each) => each.do === 'scan' && each.url)).toEqual(['logs/a', 'logs/b']);
  answer({ is: 'done' });
  expect([scan.isRunning, scan.found, scan.bytes, scan.problem, terminated()]).toEqual([
    false,
    [line('x')],
    7,
    'a: no log',
    1,
  ]);
});

test('terminates a worker whose expression takes too long; waiting for the kubelet may take any time', () => {
  const { answer, scan, terminated } = bench();
  vi.advanceTimersByTime(60_000);
  expect(scan.isRunning).toBe(true);
  answer({ is: 'busy' });
  vi.advanceTimersByTime(limitMs);
  expect([scan.isRunning, scan.problem, terminated()]).toEqual([false, tooSlow, 1]);
});

test('ends with a thousand matches', () => {
  const { answer, scan } = bench();
  answer({ is: 'progress', bytes: 1, found: Array.from({ length: 5_000 }, () => line('x')) });
  expect([scan.found.length, scan.isFull, scan.isRunning]).toEqual([1_000, true, false]);
});
