import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Component, LoopLoad } from './component.ts';
import { KeyedQueue } from './keyed-queue.ts';
import { loopViews, sumLoads } from './loop-load.ts';

const idle: LoopLoad = {
  running: 0,
  queued: 0,
  backingOff: 0,
  oldestRunMs: undefined,
  oldestKey: undefined,
};

function component(name: string, load?: LoopLoad): Component {
  const start = async () => ({ stopped: Promise.resolve() });
  return load === undefined ? { name, start } : { name, start, loopLoad: () => load };
}

function queueOf<K>(clock: FakeClock, run: (key: K) => Promise<void>, parallel = 2) {
  const queue = new KeyedQueue<K>({ clock, parallel, run, backoff: { initialMs: 1_000, maxMs: 1_000 } });
  queue.start();
  return queue;
}

test('a queue without keys has no load', () => {
  expect(queueOf(new FakeClock(), async () => undefined).load()).toEqual(idle);
});

test('counts runs in flight, queued keys and keys that wait for a retry, and names the oldest run', async () => {
  const clock = new FakeClock();
  const queue = queueOf<string>(clock, (key) =>
    key === 'broken' ? Promise.reject(new Error('no')) : new Promise(() => undefined),
  );
  queue.add('broken');
  await clock.settle();
  queue.add('first');
  await clock.advance(200);
  for (const key of ['second', 'third', 'fourth']) queue.add(key);
  await clock.advance(300);
  expect(queue.load()).toEqual({
    running: 2,
    queued: 2,
    backingOff: 1,
    oldestRunMs: 500,
    oldestKey: 'first',
  });
});

test('a queue that was never started is not behind', () => {
  const clock = new FakeClock();
  const backoff = { initialMs: 1_000, maxMs: 1_000 };
  const queue = new KeyedQueue<string>({ clock, parallel: 1, run: async () => undefined, backoff });
  queue.add('waits for the start');
  expect(queue.load()).toEqual(idle);
});

test('a key that is due at a requested time is neither queued nor backing off', async () => {
  const clock = new FakeClock();
  const queue = queueOf<string>(clock, async () => undefined);
  queue.addAfter('later', 1_000);
  expect(queue.load()).toEqual(idle);
});

test('truncates a long key, and leaves out one that is no text', async () => {
  const clock = new FakeClock();
  const long = queueOf<string>(clock, () => new Promise(() => undefined));
  long.add('x'.repeat(1_000_000));
  const objects = queueOf<object>(clock, () => new Promise(() => undefined));
  objects.add({});
  await clock.settle();
  expect(long.load().oldestKey).toBe('x'.repeat(100));
  expect(objects.load()).toMatchObject({ running: 1, oldestKey: undefined });
});

test('the load of several queues is their sum, with the oldest run of all', () => {
  const busy = { running: 1, queued: 2, backingOff: 3, oldestRunMs: 40, oldestKey: 'a' };
  const older = { running: 1, queued: 0, backingOff: 0, oldestRunMs: 50, oldestKey: undefined };
  expect(sumLoads([idle, busy, older])).toEqual({
    running: 2,
    queued: 2,
    backingOff: 3,
    oldestRunMs: 50,
    oldestKey: undefined,
  });
  expect(sumLoads([])).toEqual(idle);
});

test('lists the components that have a queue, in their order', () => {
  const views = loopViews([component('b', idle), component('none'), component('a', idle)]);
  expect(views.map(({ name }) => name)).toEqual(['b', 'a']);
});
