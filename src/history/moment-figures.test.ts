import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { MomentFigures } from './moment-figures.ts';

const uid = asPodUid('u');
const { signal } = new AbortController();
const space = { capacityBytes: 1000, availableBytes: 400, inodesFree: 7 };

function figures(over: Partial<ConstructorParameters<typeof MomentFigures>[0]> = {}) {
  const clock = new FakeClock();
  let measured = 0;
  const moment = new MomentFigures({
    cgroups: {
      memory: (path) =>
        path === '/burstable/podu' ? { usageBytes: 90, workingSetBytes: 70, limitBytes: 100 } : undefined,
      usage: () => undefined,
    },
    podPaths: () => ['/podu', '/burstable/podu', '/besteffort/podu'],
    tasks: () => ({ max: 1000, current: 10 }),
    space: async () => {
      measured += 1;
      return space;
    },
    rootDir: '/root',
    memoryBytes: 8000,
    clock,
    ...over,
  });
  return { clock, moment, measured: () => measured };
}

const ofDisk = { nodefsCapacityBytes: 1000, nodefsAvailableBytes: 400, nodefsInodesFree: 7 };
const ofProcesses = { nodeProcesses: 10, nodeProcessesMax: 1000 };

test('finds the pod in the cgroup of its QoS class', async () => {
  expect(await figures().moment.read(uid, signal)).toEqual({
    podMemoryWorkingSetBytes: 70,
    ...ofDisk,
    ...ofProcesses,
  });
});

test('many ends at once share one measurement of the node', async () => {
  const { clock, measured, moment } = figures();
  await Promise.all(Array.from({ length: 100 }, () => moment.read(uid, signal)));
  expect(measured()).toBe(1);
  await clock.advance(1_000);
  await moment.read(uid, signal);
  expect(measured()).toBe(2);
});

test('a figure that cannot be read, or not in time, is omitted', async () => {
  const fail = (): never => {
    throw new Error('EIO');
  };
  const { clock, moment } = figures({
    cgroups: { memory: fail, usage: fail },
    tasks: fail,
    space: () => new Promise(() => undefined),
  });
  const read = moment.read(uid, signal);
  await clock.advance(1_000);
  expect(await read).toEqual({});
  expect(await figures({ cgroups: undefined }).moment.read(uid, signal)).toEqual({
    ...ofDisk,
    ...ofProcesses,
  });
});
