import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Aborted } from './errors.ts';
import { KeyedQueue, type KeyedQueueOptions } from './keyed-queue.ts';

interface RunInFlight {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly atMs: number;
  finish(): Promise<void>;
  fail(err: unknown): Promise<void>;
}

/** A queue whose runs end under the control of the test. */
function setUp(options: Partial<KeyedQueueOptions<string>> = {}) {
  const clock = new FakeClock();
  const runs: RunInFlight[] = [];
  const errors: [key: string, message: string, retryInMs: number][] = [];
  const queue = new KeyedQueue<string>({
    clock,
    parallel: 10,
    backoff: { initialMs: 100, maxMs: 1000 },
    onError: (key, err, retryInMs) => errors.push([key, (err as Error).message, retryInMs]),
    run: (key, signal) =>
      new Promise((resolve, reject) => {
        runs.push({
          key,
          signal,
          atMs: clock.monotonic(),
          finish: () => {
            resolve();
            return clock.settle();
          },
          fail: (err) => {
            reject(err);
            return clock.settle();
          },
        });
      }),
    ...options,
  });
  queue.start();
  const add = async (...keys: string[]): Promise<void> => {
    for (const key of keys) queue.add(key);
    await clock.settle();
  };
  const begun = (): string[] => runs.map(({ key }) => key);
  const at = (index: number): RunInFlight => {
    const run = runs[index];
    if (run === undefined) throw new Error(`run ${index} has not begun`);
    return run;
  };
  return { clock, queue, errors, add, begun, at };
}

describe('KeyedQueue: adding', () => {
  test('runs a key once that was added several times before its run', async () => {
    const { add, begun } = setUp();
    await add('a', 'a', 'b', 'a');
    expect(begun()).toEqual(['a', 'b']);
  });

  test('never begins a run inside add()', () => {
    const { queue, begun } = setUp();
    queue.add('a');
    expect(begun()).toEqual([]);
  });

  test('runs a key once more that was added during its run', async () => {
    const { add, begun, at } = setUp();
    await add('a');
    await add('a', 'a', 'a');
    expect(begun()).toEqual(['a']);
    await at(0).finish();
    expect(begun()).toEqual(['a', 'a']);
    await at(1).finish();
    expect(begun()).toEqual(['a', 'a']);
  });

  test('counts an add from within the run itself', async () => {
    const clock = new FakeClock();
    let runs = 0;
    const queue: KeyedQueue<string> = new KeyedQueue<string>({
      clock,
      parallel: 1,
      backoff: { initialMs: 1, maxMs: 1 },
      run: async (key) => {
        if (++runs < 3) queue.add(key);
      },
    });
    queue.start();
    queue.add('a');
    await clock.settle();
    expect(runs).toBe(3);
    expect(queue.isActive('a')).toBe(false);
  });

  test('runs keys in the order of their adds, dirty ones last', async () => {
    const { add, begun, at } = setUp({ parallel: 1 });
    await add('a');
    await add('b', 'a', 'c');
    for (const index of [0, 1, 2]) await at(index).finish();
    expect(begun()).toEqual(['a', 'b', 'c', 'a']);
  });

  test('runs at most `parallel` keys at once', async () => {
    const { add, begun, at } = setUp({ parallel: 2 });
    await add('a', 'b', 'c', 'd');
    expect(begun()).toEqual(['a', 'b']);
    await at(1).finish();
    expect(begun()).toEqual(['a', 'b', 'c']);
    await at(0).finish();
    expect(begun()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('does not delay other keys behind a stuck run', async () => {
    const { add, begun, at } = setUp({ parallel: 2 });
    await add('stuck', 'b', 'c');
    await at(1).finish();
    await at(2).finish();
    await add('b');
    expect(begun()).toEqual(['stuck', 'b', 'c', 'b']);
  });

  test('runs keys after start() that were added before it', async () => {
    const clock = new FakeClock();
    const seen: string[] = [];
    const queue = new KeyedQueue<string>({
      clock,
      parallel: 1,
      backoff: { initialMs: 1, maxMs: 1 },
      run: async (key) => void seen.push(key),
    });
    queue.add('a');
    queue.addAfter('b', 5);
    await clock.advance(10);
    expect(seen).toEqual([]);
    queue.start();
    queue.start();
    await clock.settle();
    expect(seen).toEqual(['a', 'b']);
  });

  test('keeps the order of thousands of waiting keys', async () => {
    const { clock, queue, begun, at } = setUp({ parallel: 1 });
    const keys = Array.from({ length: 1000 }, (_, i) => `k${i}`);
    for (const key of keys) queue.add(key);
    await clock.settle();
    for (const [index] of keys.entries()) {
      void at(index).finish();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    }
    await clock.settle();
    expect(begun()).toEqual(keys);
  });

  test('rejects a limit below one, with which nothing would ever run', () => {
    expect(() => setUp({ parallel: 0 })).toThrow(RangeError);
  });
});

describe('KeyedQueue: addAfter', () => {
  test('runs the key when it is due', async () => {
    const { clock, queue, begun } = setUp();
    queue.addAfter('a', 50);
    await clock.advance(49);
    expect(begun()).toEqual([]);
    await clock.advance(1);
    expect(begun()).toEqual(['a']);
  });

  test.each([
    ['the earlier one is added first', 50, 80],
    ['the earlier one is added second', 80, 50],
  ])('one timer per key, the earlier wins: %s', async (_name, first, second) => {
    const { clock, queue, begun, at } = setUp();
    queue.addAfter('a', first);
    queue.addAfter('a', second);
    expect(clock.pendingTimers()).toBe(1);
    await clock.advance(50);
    expect(begun()).toEqual(['a']);
    await at(0).finish();
    await clock.advance(1000);
    expect(begun()).toEqual(['a']);
  });

  test('runs the key once more if it is due during a run', async () => {
    const { clock, queue, add, begun, at } = setUp();
    await add('a');
    queue.addAfter('a', 50);
    await clock.advance(60);
    expect(begun()).toEqual(['a']);
    await at(0).finish();
    expect(begun()).toEqual(['a', 'a']);
  });

  test('isRunning holds during the run only', async () => {
    const { queue, add, at } = setUp();
    queue.addAfter('a', 50);
    expect(queue.isRunning('a')).toBe(false);
    await add('a');
    expect([queue.isRunning('a'), queue.isRunning('b')]).toEqual([true, false]);
    await at(0).finish();
    expect([queue.isRunning('a'), queue.isActive('a')]).toEqual([false, true]);
  });

  test('keeps a requested wake after an add and a success', async () => {
    const { clock, queue, add, begun, at } = setUp();
    queue.addAfter('a', 50);
    await add('a');
    await at(0).finish();
    expect(queue.isActive('a')).toBe(true);
    await clock.advance(50);
    expect(begun()).toEqual(['a', 'a']);
  });
});

describe('KeyedQueue: backoff', () => {
  test('doubles up to the maximum, per key', async () => {
    const { clock, add, errors, at } = setUp();
    await add('a');
    for (let i = 0; i < 6; i++) {
      await at(i).fail(new Error(`no ${i}`));
      await clock.advance(errors[i]?.[2] ?? 0);
    }
    expect(errors.map(([, , retryInMs]) => retryInMs)).toEqual([100, 200, 400, 800, 1000, 1000]);
    await add('b');
    await at(7).fail(new Error('no'));
    expect(errors.at(-1)).toEqual(['b', 'no', 100]);
  });

  test('retries at the announced time', async () => {
    const { clock, add, begun, at } = setUp();
    await add('a');
    await at(0).fail(new Error('no'));
    await clock.advance(99);
    expect(begun()).toEqual(['a']);
    await clock.advance(1);
    expect(begun()).toEqual(['a', 'a']);
  });

  test.each([
    [0, 100],
    [0.5, 125],
    [0.999, 149.95],
  ])('jitter stretches the delay: random %d → %d ms', async (random, want) => {
    const { add, errors, at } = setUp({
      backoff: { initialMs: 100, maxMs: 1000, jitter: 0.5 },
      random: () => random,
    });
    await add('a');
    await at(0).fail(new Error('no'));
    expect(errors[0]?.[2]).toBeCloseTo(want, 6);
  });

  test('resets on success', async () => {
    const { clock, add, errors, at } = setUp();
    await add('a');
    await at(0).fail(new Error('1'));
    await clock.advance(100);
    await at(1).fail(new Error('2'));
    await clock.advance(200);
    await at(2).finish();
    await add('a');
    await at(3).fail(new Error('3'));
    expect(errors.map(([, , retryInMs]) => retryInMs)).toEqual([100, 200, 100]);
  });

  test('runs an added key at once, and its success cancels the retry', async () => {
    const { clock, queue, add, begun, at } = setUp();
    await add('a');
    await at(0).fail(new Error('no'));
    await add('a');
    expect(begun()).toEqual(['a', 'a']);
    await at(1).finish();
    expect(queue.isActive('a')).toBe(false);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('addUnlessBackingOff waits for the retry, also if called during the failing run', async () => {
    const { add, at, begun, clock, queue } = setUp();
    await add('a');
    queue.addUnlessBackingOff('a');
    await at(0).fail(new Error('no'));
    queue.addUnlessBackingOff('a');
    await clock.advance(99);
    expect(begun()).toEqual(['a']);
    await clock.advance(1);
    expect(begun()).toEqual(['a', 'a']);
    queue.addUnlessBackingOff('a');
    await at(1).finish();
    expect(begun()).toEqual(['a', 'a', 'a']);
  });

  test('keeps a retry on success that is also a requested wake', async () => {
    const { clock, queue, add, begun, at } = setUp();
    await add('a');
    await at(0).fail(new Error('no'));
    queue.addAfter('a', 500);
    await add('a');
    await at(1).finish();
    await clock.advance(500);
    expect(begun()).toEqual(['a', 'a', 'a']);
  });

  test('keeps a requested wake on success that a retry moved forward', async () => {
    const { clock, queue, add, begun, at } = setUp();
    await add('a');
    queue.addAfter('a', 500);
    await at(0).fail(new Error('no'));
    expect(clock.pendingTimers()).toBe(1);
    await add('a');
    await at(1).finish();
    await clock.advance(100);
    expect(begun()).toEqual(['a', 'a', 'a']);
  });

  test('runs a dirty key at once after a failure and keeps its failure count', async () => {
    const { add, begun, errors, at } = setUp();
    await add('a');
    await add('a');
    await at(0).fail(new Error('1'));
    expect(begun()).toEqual(['a', 'a']);
    await at(1).fail(new Error('2'));
    expect(errors.map(([, , retryInMs]) => retryInMs)).toEqual([100, 200]);
  });

  test('treats a synchronous throw as a failure', async () => {
    const errors: unknown[] = [];
    const clock = new FakeClock();
    const queue = new KeyedQueue<string>({
      clock,
      parallel: 1,
      backoff: { initialMs: 5, maxMs: 5 },
      run: () => {
        throw new Error('at once');
      },
      onError: (_key, err) => errors.push(err),
    });
    queue.start();
    queue.add('a');
    await clock.settle();
    expect(errors).toEqual([new Error('at once')]);
    await queue.stop();
    expect(clock.pendingTimers()).toBe(0);
  });

  test('forget clears backoff and timer but keeps a queued key', async () => {
    const { clock, queue, add, begun, errors, at } = setUp();
    await add('a');
    await at(0).fail(new Error('1'));
    queue.forget('a');
    expect([queue.isActive('a'), clock.pendingTimers()]).toEqual([false, 0]);
    queue.add('a');
    queue.forget('a');
    await clock.settle();
    expect(begun()).toEqual(['a', 'a']);
    await at(1).fail(new Error('2'));
    expect(errors.map(([, , retryInMs]) => retryInMs)).toEqual([100, 100]);
    queue.forget('unknown');
    expect(queue.isActive('unknown')).toBe(false);
  });
});

describe('KeyedQueue: cancel', () => {
  test("aborts the signal of that key's run with the reason", async () => {
    const { queue, add, at } = setUp();
    await add('a', 'b');
    const reason = new Aborted('shorter grace period');
    queue.cancel('a', reason);
    queue.cancel('unknown');
    expect(at(0).signal.reason).toBe(reason);
    expect(at(1).signal.aborted).toBe(false);
  });

  test.each([
    ['its reason', (signal: AbortSignal) => signal.reason],
    ['the reason, wrapped', (signal: AbortSignal) => new Error('x', { cause: signal.reason })],
  ])('a cancelled run that ends with %s has not failed and is not repeated', async (_name, errorOf) => {
    const { clock, queue, add, begun, errors, at } = setUp();
    await add('a');
    queue.cancel('a');
    await at(0).fail(errorOf(at(0).signal));
    await clock.advance(10_000);
    expect([begun(), errors, queue.isActive('a')]).toEqual([['a'], [], false]);
  });

  test('runs a key again, with a new signal, that was added during a cancelled run', async () => {
    const { queue, add, begun, at } = setUp();
    await add('a');
    queue.cancel('a');
    await add('a');
    expect(begun()).toEqual(['a']);
    await at(0).fail(at(0).signal.reason);
    expect(begun()).toEqual(['a', 'a']);
    expect(at(1).signal.aborted).toBe(false);
  });

  test('keeps a waiting key queued', async () => {
    const { queue, add, begun, at } = setUp({ parallel: 1 });
    await add('a', 'b');
    queue.cancel('b');
    await at(0).finish();
    expect(begun()).toEqual(['a', 'b']);
    expect(at(1).signal.aborted).toBe(false);
  });

  test('treats another error of a cancelled run as a failure', async () => {
    const { queue, add, errors, at } = setUp();
    await add('a');
    queue.cancel('a');
    await at(0).fail(new Error('disk full'));
    expect(errors).toEqual([['a', 'disk full', 100]]);
  });

  test('retries after an abort that was not of this run', async () => {
    const { queue, add, errors, at } = setUp();
    await add('a');
    await at(0).fail(new Aborted('by another caller'));
    expect(errors).toEqual([['a', 'by another caller', 100]]);
    expect(queue.isActive('a')).toBe(true);
  });

  test('abortAll aborts every run', async () => {
    const { queue, add, at } = setUp();
    await add('a', 'b');
    queue.abortAll();
    expect([at(0).signal.aborted, at(1).signal.aborted]).toEqual([true, true]);
  });
});

describe('KeyedQueue: stop', () => {
  test('waits for the runs in flight, without aborting them', async () => {
    const { clock, queue, add, at } = setUp();
    await add('a', 'b');
    let stops = 0;
    void queue.stop().finally(() => stops++);
    void queue.stop().finally(() => stops++);
    await at(0).finish();
    expect([stops, at(1).signal.aborted]).toEqual([0, false]);
    await at(1).fail(new Error('no'));
    expect([stops, clock.pendingTimers()]).toEqual([2, 0]);
  });

  test('begins no queued, dirty or timed key', async () => {
    const { clock, queue, add, begun, at } = setUp({ parallel: 1 });
    await add('a', 'b');
    await add('a');
    queue.addAfter('c', 10);
    const stopped = queue.stop();
    await at(0).finish();
    await stopped;
    await clock.advance(10_000);
    expect(begun()).toEqual(['a']);
    expect(['a', 'b', 'c'].some((key) => queue.isActive(key))).toBe(false);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('reports a run that fails during the stop and does not retry it', async () => {
    const { clock, queue, add, begun, errors, at } = setUp();
    await add('a');
    const stopped = queue.stop();
    await at(0).fail(new Error('no'));
    await stopped;
    await clock.advance(10_000);
    expect([begun(), errors.length, queue.isActive('a')]).toEqual([['a'], 1, false]);
  });

  test('ignores adds and start() afterwards', async () => {
    const { clock, queue, begun } = setUp();
    await queue.stop();
    queue.add('a');
    queue.addAfter('b', 1);
    queue.start();
    await clock.advance(10);
    expect([begun(), queue.isActive('a'), queue.isActive('b')]).toEqual([[], false, false]);
  });

  test('does not run a key that was added just before', async () => {
    const { clock, queue, begun } = setUp();
    queue.add('a');
    await queue.stop();
    await clock.settle();
    expect(begun()).toEqual([]);
  });
});

test('KeyedQueue: isActive holds while a key is queued, running or timed', async () => {
  const { clock, queue, add, at } = setUp({ parallel: 1 });
  expect(queue.isActive('a')).toBe(false);
  await add('a', 'b');
  queue.addAfter('c', 10);
  expect(['a', 'b', 'c'].map((key) => queue.isActive(key))).toEqual([true, true, true]);
  await at(0).finish();
  await at(1).finish();
  await clock.advance(10);
  await at(2).finish();
  expect(['a', 'b', 'c'].map((key) => queue.isActive(key))).toEqual([false, false, false]);
});
