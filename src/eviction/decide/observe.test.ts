import { expect, test } from 'vitest';
import { aDisk, aMemoryRoom } from '../../../test/builders/eviction.ts';
import type { NodeSignals } from '../../api/ports/node-usage.ts';
import { observe } from './observe.ts';

const complete: NodeSignals = {
  memory: aMemoryRoom({ atMs: 1, capacityBytes: 1000, availableBytes: 300 }),
  kernelAvailableBytes: 650,
  podMemory: aMemoryRoom({ atMs: 2, capacityBytes: 800, availableBytes: 200 }),
  nodeFs: aDisk({ atMs: 3, capacityBytes: 90, availableBytes: 9, inodes: 80, inodesFree: 8 }),
  imageFs: aDisk({ atMs: 4, capacityBytes: 70, availableBytes: 7, inodes: 60, inodesFree: 6 }),
  containerFs: aDisk({ atMs: 5, capacityBytes: 50, availableBytes: 5, inodes: 40, inodesFree: 4 }),
  processes: { atMs: 6, max: 100, current: 30 },
};
const all = {
  'memory.available': { available: 300, capacity: 1000, atMs: 1 },
  'allocatableMemory.available': { available: 200, capacity: 800, atMs: 2 },
  'nodefs.available': { available: 9, capacity: 90, atMs: 3 },
  'nodefs.inodesFree': { available: 8, capacity: 80, atMs: 3 },
  'imagefs.available': { available: 7, capacity: 70, atMs: 4 },
  'imagefs.inodesFree': { available: 6, capacity: 60, atMs: 4 },
  'containerfs.available': { available: 5, capacity: 50, atMs: 5 },
  'containerfs.inodesFree': { available: 4, capacity: 40, atMs: 5 },
  'pid.available': { available: 70, capacity: 100, atMs: 6 },
};
const without = (...names: (keyof typeof all)[]): object =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !names.some((each) => each === name)));

test.each([
  ['every signal', {}, 'WorkingSet', all],
  [
    'the kernel’s estimate, for the memory of the node only',
    {},
    'MemAvailable',
    { ...all, 'memory.available': { available: 650, capacity: 1000, atMs: 1 } },
  ],
  [
    'no estimate of the kernel: no signal',
    { kernelAvailableBytes: undefined },
    'MemAvailable',
    without('memory.available'),
  ],
  ['no estimate, not needed', { kernelAvailableBytes: undefined }, 'WorkingSet', all],
  ['memory not read', { memory: undefined }, 'MemAvailable', without('memory.available')],
  ['pods without a limit', { podMemory: undefined }, 'WorkingSet', without('allocatableMemory.available')],
  [
    'a hung file system',
    { nodeFs: undefined },
    'WorkingSet',
    without('nodefs.available', 'nodefs.inodesFree'),
  ],
  [
    'the runtime away',
    { imageFs: undefined, containerFs: undefined },
    'WorkingSet',
    without('imagefs.available', 'imagefs.inodesFree', 'containerfs.available', 'containerfs.inodesFree'),
  ],
  ['processes not counted', { processes: undefined }, 'WorkingSet', without('pid.available')],
  [
    'a file system without a fixed number of inodes',
    { nodeFs: aDisk({ atMs: 3, capacityBytes: 90, availableBytes: 9, inodes: 0, inodesFree: 0 }) },
    'WorkingSet',
    without('nodefs.inodesFree'),
  ],
  [
    'more processes than the maximum: none available',
    { processes: { atMs: 6, max: 100, current: 130 } },
    'WorkingSet',
    { ...all, 'pid.available': { available: 0, capacity: 100, atMs: 6 } },
  ],
  [
    'a figure that is not a number',
    { memory: aMemoryRoom({ availableBytes: Number.NaN }) },
    'WorkingSet',
    without('memory.available'),
  ],
] as const)('%s', (_name, over, memorySource, want) => {
  expect(Object.fromEntries(observe({ ...complete, ...over }, { memorySource }))).toEqual(want);
});
