import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { MemoryTrimmer } from './memory-trimmer.ts';

const MiB = 1024 * 1024;

async function rig() {
  const clock = new FakeClock(0);
  const changed = new Channel<ReturnType<typeof asPodUid>>();
  const wanted = new Set<string>();
  const abort = new AbortController();
  const trimmedAtMs: number[] = [];
  const memory = { bytes: 80 * MiB, inUse: 80 * MiB };
  const loop = new MemoryTrimmer({
    desired: { changed, get: (uid) => (wanted.has(uid) ? {} : undefined) },
    trim: () => {
      trimmedAtMs.push(clock.now());
      memory.bytes = memory.inUse;
    },
    residentBytes: () => memory.bytes,
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
  return { abort, clock, memory, put, stopped, take, trimmedAtMs };
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

test('trims every 20 s while the kubelet is much larger than at its start and that helps', async () => {
  const { clock, memory, trimmedAtMs } = await rig();
  memory.bytes = 112 * MiB - 1;
  await clock.advance(30_000);
  expect(trimmedAtMs).toEqual([]);
  memory.bytes = 200 * MiB;
  await clock.advance(10_000);
  memory.bytes = 120 * MiB;
  await clock.advance(40_000);
  expect(trimmedAtMs).toEqual([40_000, 60_000]);
});

test('trims less and less often while the memory is in use', async () => {
  const { clock, memory, trimmedAtMs } = await rig();
  memory.bytes = memory.inUse = 150 * MiB;
  await clock.advance(1_000_000);
  expect(trimmedAtMs).toEqual([20_000, 40_000, 60_000, 80_000, 120_000, 200_000, 360_000, 680_000]);
  memory.bytes = 300 * MiB;
  await clock.advance(320_000);
  expect(trimmedAtMs.slice(8)).toEqual([1_280_000, 1_300_000, 1_320_000]);
});

test('leaves no timer behind when stopped', async () => {
  const { abort, clock, memory, put, stopped, take, trimmedAtMs } = await rig();
  put('a');
  take('a');
  memory.bytes = 500 * MiB;
  abort.abort();
  await stopped;
  await clock.advance(60_000);
  expect(trimmedAtMs).toEqual([]);
});
