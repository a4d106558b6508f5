import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Channel } from '../channel.ts';
import { KeyedQueue } from '../keyed-queue.ts';
import { reportUncaught } from './report-uncaught.ts';

/** The uncaught exceptions while fn ran. The handlers of the test runner are removed meanwhile. */
async function uncaughtDuring(fn: () => void): Promise<unknown[]> {
  const caught: unknown[] = [];
  const handlers = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (err) => void caught.push(err));
  try {
    fn();
    await new FakeClock().settle();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const handler of handlers) process.on('uncaughtException', handler);
  }
  return caught;
}

const boom = new Error('boom');
const throwBoom = (): never => {
  throw boom;
};

describe('errors without a caller become uncaught exceptions', () => {
  test('reportUncaught, after the call', async () => {
    expect(await uncaughtDuring(() => reportUncaught(boom))).toEqual([boom]);
  });

  test('a listener of a channel without onError, after the push', async () => {
    const channel = new Channel<number>();
    const seen: number[] = [];
    channel.subscribe(throwBoom);
    channel.subscribe((key) => seen.push(key));
    const caught = await uncaughtDuring(() => {
      channel.push(1);
      expect(seen).toEqual([1]);
    });
    expect(caught).toEqual([boom]);
  });

  test('onError of a keyed queue, which continues', async () => {
    const clock = new FakeClock();
    let runs = 0;
    const queue = new KeyedQueue<string>({
      clock,
      parallel: 1,
      backoff: { initialMs: 10, maxMs: 10 },
      run: async () => {
        if (++runs === 1) throw new Error('no');
      },
      onError: throwBoom,
    });
    queue.start();
    expect(await uncaughtDuring(() => queue.add('a'))).toEqual([boom]);
    await clock.advance(10);
    expect(runs).toBe(2);
  });
});
