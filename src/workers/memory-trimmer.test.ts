import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { MemoryTrimmer } from './memory-trimmer.ts';

async function rig() {
  const clock = new FakeClock(0);
  const changed = new Channel<ReturnType<typeof asPodUid>>();
  const wanted = new Set<string>();
  const abort = new AbortController();
  const trimmedAtMs: number[] = [];
  const loop = new MemoryTrimmer({
    desired: { changed, get: (uid) => (wanted.has(uid) ? {} : undefined) },
    trim: () => void trimmedAtMs.push(clock.now()),
    clock,
  });
  const { stopped } = await startComponent(loop, abort.signal);
  const put = (name: string): void => {
    wanted.add(name);
    changed.push(asPodUid(name));
  };
  const take = (name: string): void => {
    wanted.delete(name);
    changed.push(asPodUid(name));
  };
  return { abort, clock, put, stopped, take, trimmedAtMs };
}

test('trims once, ten quiet seconds after the last pod was removed', async () => {
  const { clock, put, take, trimmedAtMs } = await rig();
  put('a');
  put('b');
  take('a');
  await clock.advance(9_000);
  take('b');
  await clock.advance(9_999);
  expect(trimmedAtMs).toEqual([]);
  await clock.advance(60_000);
  expect(trimmedAtMs).toEqual([19_000]);
});

test('a new pod restarts a running timer but does not start one', async () => {
  const { clock, put, take, trimmedAtMs } = await rig();
  put('a');
  await clock.advance(60_000);
  expect(trimmedAtMs).toEqual([]);
  take('a');
  await clock.advance(5_000);
  put('b');
  await clock.advance(60_000);
  expect(trimmedAtMs).toEqual([75_000]);
});

test('leaves no timer behind when stopped', async () => {
  const { abort, clock, put, stopped, take, trimmedAtMs } = await rig();
  put('a');
  take('a');
  abort.abort();
  await stopped;
  await clock.advance(60_000);
  expect(trimmedAtMs).toEqual([]);
});
