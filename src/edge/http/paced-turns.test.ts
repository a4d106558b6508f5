import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PacedTurns } from './paced-turns.ts';

/** The time that work has added to the clock: timers do not fire while it runs. */
let workedMs = 0;
let began: [name: string, atMs: number][] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'setImmediate'] });
  const faked = performance.now.bind(performance);
  const startMs = faked();
  workedMs = 0;
  began = [];
  vi.spyOn(performance, 'now').mockImplementation(() => faked() - startMs + workedMs);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const work =
  (name: string, tookMs: number): (() => void) =>
  () => {
    began.push([name, performance.now()]);
    workedMs += tookMs;
  };

test('runs the first piece at once', () => {
  new PacedTurns(0.25).run(work('a', 10));
  expect(began).toEqual([['a', 0]]);
});

test('pauses after each piece in proportion to its duration', async () => {
  const turns = new PacedTurns(0.25);
  turns.run(work('a', 10));
  turns.run(work('b', 20));
  turns.run(work('c', 1));
  expect(began).toHaveLength(1);
  await vi.runAllTimersAsync();
  // A quarter of the time: 10 ms of work, 30 ms of pause, 20 ms of work, 60 ms of pause.
  expect(began).toEqual([
    ['a', 0],
    ['b', 40],
    ['c', 120],
  ]);
});

test('runs the next piece at once after the pause', async () => {
  const turns = new PacedTurns(0.25);
  turns.run(work('a', 10));
  await vi.advanceTimersByTimeAsync(29);
  turns.run(work('b', 1));
  expect(began).toHaveLength(1);
  await vi.runAllTimersAsync();
  await vi.advanceTimersByTimeAsync(100);
  turns.run(work('c', 1));
  expect(began.map(([name]) => name)).toEqual(['a', 'b', 'c']);
});

test('runs one piece per turn of the event loop, in order, however short they are', async () => {
  const turns = new PacedTurns(0.25);
  turns.run(work('a', 0.01));
  for (const name of ['b', 'c', 'd']) turns.run(work(name, 0.01));
  const seen: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    setImmediate(() => void seen.push(began.length));
    await vi.advanceTimersToNextTimerAsync();
    await vi.advanceTimersToNextTimerAsync();
  }
  await vi.runAllTimersAsync();
  expect(began.map(([name]) => name)).toEqual(['a', 'b', 'c', 'd']);
  // Other work ran between any two of them.
  expect(seen).toEqual([2, 3, 4]);
});

test('queues new work behind waiting work', async () => {
  const turns = new PacedTurns(0.25);
  turns.run(work('a', 10));
  turns.run(work('b', 10));
  // The pause is over, but the timer has not fired yet.
  workedMs += 1_000;
  turns.run(work('c', 10));
  expect(began).toHaveLength(1);
  await vi.runAllTimersAsync();
  expect(began.map(([name]) => name)).toEqual(['a', 'b', 'c']);
});

test('continues after a piece that throws', async () => {
  const turns = new PacedTurns(0.25);
  turns.run(work('a', 10));
  turns.run(() => {
    throw new Error('broken');
  });
  turns.run(work('c', 10));
  await expect(vi.runAllTimersAsync()).rejects.toThrow('broken');
  await vi.runAllTimersAsync();
  expect(began.map(([name]) => name)).toEqual(['a', 'c']);
});
