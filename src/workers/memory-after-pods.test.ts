import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { MemoryAfterPods } from './memory-after-pods.ts';

async function bench() {
  const clock = new FakeClock(0);
  const changed = new Channel<ReturnType<typeof asPodUid>>();
  const wanted = new Set<string>();
  const abort = new AbortController();
  const told: number[] = [];
  const loop = new MemoryAfterPods({
    desired: { changed, get: (uid) => (wanted.has(uid) ? {} : undefined) },
    giveBack: () => void told.push(clock.now()),
    clock,
  });
  const { stopped } = await loop.start(abort.signal);
  const put = (name: string): void => {
    wanted.add(name);
    changed.push(asPodUid(name));
  };
  const take = (name: string): void => {
    wanted.delete(name);
    changed.push(asPodUid(name));
  };
  return { abort, clock, put, stopped, take, told };
}

test('once, ten quiet seconds after the last pod went', async () => {
  const { clock, put, take, told } = await bench();
  put('a');
  put('b');
  take('a');
  await clock.advance(9_000);
  take('b');
  await clock.advance(9_999);
  expect(told).toEqual([]);
  await clock.advance(60_000);
  expect(told).toEqual([19_000]);
});

test('pods that come put it off, and do not begin it', async () => {
  const { clock, put, take, told } = await bench();
  put('a');
  await clock.advance(60_000);
  expect(told).toEqual([]);
  take('a');
  await clock.advance(5_000);
  put('b');
  await clock.advance(60_000);
  expect(told).toEqual([75_000]);
});

test('a stop leaves no timer', async () => {
  const { abort, clock, put, stopped, take, told } = await bench();
  put('a');
  take('a');
  abort.abort();
  await stopped;
  await clock.advance(60_000);
  expect(told).toEqual([]);
});
