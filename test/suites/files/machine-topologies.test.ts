// Reads /sys trees of machines with several NUMA nodes, and derives the CPU topology. The expected values were compared with
// cadvisor's and upstream's of v1.37 on the same trees.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readMachineTopology } from '../../../src/edge/machine/machine-topology.ts';
import type { CpuSet } from '../../../src/resources/cpu/cpu-set.ts';
import { type CpuTopology, discoverCpuTopology } from '../../../src/resources/cpu/cpu-topology.ts';
import { machineShapes, writeSysTree } from '../../fakes/sys-trees.ts';

// A tree has thousands of files, which take seconds on some disks.
const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(parent, 'sys-'));
});
afterEach(async () => await rm(root, { recursive: true }));

const read = async () => await readMachineTopology({ sys: root, proc: join(root, 'proc') });

interface Expected {
  /** CPUs, cores, sockets, NUMA nodes, uncore caches. */
  readonly counts: readonly number[];
  readonly nodes: string;
  readonly sockets: string;
  readonly caches: string;
  /** The core of the last CPU. */
  readonly lastCore: string;
}

const text = (units: ReadonlyMap<number, CpuSet>): string =>
  [...units].map(([id, cpus]) => `${id}: ${cpus}`).join('; ');

function summary({ cpus, details, units, ...topology }: CpuTopology): Expected {
  const core = details.get(cpus.ids.at(-1) ?? -1)?.core ?? -1;
  return {
    counts: [
      topology.numCpus,
      topology.numCores,
      topology.numSockets,
      topology.numNumaNodes,
      topology.numUncoreCaches,
    ],
    nodes: text(units.numaNode),
    sockets: text(units.socket),
    caches: text(units.uncoreCache),
    lastCore: `${core}: ${units.core.get(core)}`,
  };
}

const one = (all: string) => ({ nodes: `0: ${all}`, sockets: `0: ${all}`, caches: `0: ${all}` });
const halves = (first: string, second: string) => {
  const both = `0: ${first}; 1: ${second}`;
  return { nodes: both, sockets: both, caches: both };
};
const expected: Readonly<Record<keyof typeof machineShapes, Expected>> = {
  oneNode: { counts: [4, 4, 1, 1, 1], ...one('0-3'), lastCore: '3: 3' },
  oneNodeThreads: { counts: [16, 8, 1, 1, 1], ...one('0-15'), lastCore: '7: 7,15' },
  twoSockets: { counts: [16, 16, 2, 2, 2], ...halves('0-7', '8-15'), lastCore: '15: 15' },
  twoSocketsThreads: {
    counts: [32, 16, 2, 2, 2],
    ...halves('0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30', '1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31'),
    lastCore: '15: 15,31',
  },
  epyc: {
    counts: [64, 32, 2, 4, 8],
    nodes: '0: 0-7,32-39; 1: 8-15,40-47; 2: 16-23,48-55; 3: 24-31,56-63',
    sockets: '0: 0-15,32-47; 1: 16-31,48-63',
    caches:
      '0: 0-3,32-35; 1: 4-7,36-39; 2: 8-11,40-43; 3: 12-15,44-47; 4: 16-19,48-51; 5: 20-23,52-55; 6: 24-27,56-59; 7: 28-31,60-63',
    lastCore: '31: 31,63',
  },
  epycWithoutThreads: {
    counts: [24, 24, 1, 4, 8],
    nodes: '0: 0-5; 1: 6-11; 2: 12-17; 3: 18-23',
    sockets: '0: 0-23',
    caches: '0: 0-2; 1: 3-5; 2: 6-8; 3: 9-11; 4: 12-14; 5: 15-17; 6: 18-20; 7: 21-23',
    lastCore: '23: 23',
  },
  subNumaClusters: {
    counts: [16, 8, 1, 2, 1],
    ...one('0-15'),
    nodes: '0: 0-3,8-11; 1: 4-7,12-15',
    lastCore: '7: 7,15',
  },
  sparseNodes: {
    counts: [16, 4, 2, 2, 2],
    ...halves('0-7', '8-15'),
    nodes: '0: 0-7; 8: 8-15',
    lastCore: '12: 12-15',
  },
  offlineCpus: {
    counts: [13, 8, 2, 2, 2],
    ...halves('0-2,10-11', '4-7,12-15'),
    lastCore: '7: 7,15',
  },
  // The caches of the nodes without an offline CPU have the ID of their socket, as upstream, even if it is also a cache's.
  offlineInSockets: {
    counts: [31, 16, 2, 4, 2],
    nodes: '0: 0-3,16-19; 1: 4-7,20,22-23; 2: 8-11,24-27; 3: 12-15,28-31',
    sockets: '0: 0-7,16-20,22-23; 1: 8-15,24-31',
    caches: '0: 0-3,16-19; 1: 4-15,20,22-31',
    lastCore: '15: 15,31',
  },
  memoryOnlyNode: { counts: [4, 4, 2, 2, 2], ...halves('0-1', '2-3'), lastCore: '3: 3' },
  withoutCacheIds: { counts: [8, 8, 2, 2, 2], ...halves('0-3', '4-7'), lastCore: '7: 7' },
};

for (const [name, shape] of Object.entries(machineShapes))
  test(`reads the CPU topology of the machine ${name}`, async () => {
    writeSysTree(root, shape);
    const topology = discoverCpuTopology(await read());
    expect(summary(topology)).toEqual(expected[name as keyof typeof machineShapes]);
  });

test('reads the memory, huge pages and distances of NUMA nodes, also of one without CPUs', async () => {
  writeSysTree(root, machineShapes.memoryOnlyNode);
  const { nodes } = await read();
  const facts = nodes.map(({ distances, hugePages, id, memoryBytes, threads }) => ({
    id,
    kibibytes: memoryBytes / 1024n,
    pages: hugePages.map(({ count, sizeBytes }) => `${count}*${sizeBytes >> 20n}`).join(),
    distances: distances.join(),
    threads: threads.length,
  }));
  expect(facts).toEqual([
    { id: 0, kibibytes: 16_777_216n, pages: '0*2,0*1024', distances: '10,32,17', threads: 2 },
    { id: 1, kibibytes: 16_777_217n, pages: '4*2,0*1024', distances: '32,10,17', threads: 2 },
    { id: 2, kibibytes: 16_777_218n, pages: '8*2,0*1024', distances: '17,17,10', threads: 0 },
  ]);
});

test('reads the IDs, sizes and CPUs of caches', async () => {
  writeSysTree(root, machineShapes.epyc);
  const { nodes } = await read();
  const third = nodes[1]?.caches.filter(({ level }) => level === 3);
  expect(third).toMatchObject([
    { id: 2, type: 'Unified', sizeBytes: 32n << 20n, threads: [8, 9, 10, 11, 40, 41, 42, 43] },
    { id: 3, type: 'Unified', sizeBytes: 32n << 20n, threads: [12, 13, 14, 15, 44, 45, 46, 47] },
  ]);
});

test('refuses a machine without CPUs', async () => {
  const machine = await read();
  expect(() => discoverCpuTopology(machine)).toThrow('could not detect number of cpus');
});
