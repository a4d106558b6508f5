import { expect, test } from 'vitest';
import { Aborted } from '../../base/errors.ts';
import { SharedWork } from './shared-work.ts';

function setUp() {
  const runs: { signal: AbortSignal; resolve(value: string): void; reject(err: Error): void }[] = [];
  const work = new SharedWork<string>(
    (signal) => new Promise((resolve, reject) => runs.push({ signal, resolve, reject })),
  );
  const first = new AbortController();
  const second = new AbortController();
  return { runs, work, first, second };
}

const outcome = (work: Promise<string>): Promise<unknown> => work.catch((err: unknown) => err);

test('runs once for concurrent callers and keeps the result', async () => {
  const { runs, work, first, second } = setUp();
  const both = Promise.all([work.join(first.signal), work.join(second.signal)]);
  runs[0]?.resolve('a');
  expect(await both).toEqual(['a', 'a']);
  expect(await work.join(first.signal)).toBe('a');
  expect(runs).toHaveLength(1);
});

test('rejects all its callers and keeps no failure', async () => {
  const { runs, work, first, second } = setUp();
  const both = Promise.all([outcome(work.join(first.signal)), outcome(work.join(second.signal))]);
  const err = new Error('no');
  runs[0]?.reject(err);
  expect(await both).toEqual([err, err]);
  const again = work.join(first.signal);
  runs[1]?.resolve('b');
  expect(await again).toBe('b');
});

test('continues while one caller waits, and is aborted when the last has given up', async () => {
  const { runs, work, first, second } = setUp();
  const [one, two] = [outcome(work.join(first.signal)), outcome(work.join(second.signal))];
  const reason = new Aborted('enough');
  first.abort(reason);
  expect(await one).toBe(reason);
  expect(runs[0]?.signal.aborted).toBe(false);
  second.abort(reason);
  expect(await two).toBe(reason);
  expect(runs[0]?.signal.aborted).toBe(true);
  const again = work.join(new AbortController().signal);
  runs[0]?.reject(new Error('late'));
  runs[1]?.resolve('b');
  expect(await again).toBe('b');
});
