import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readMachineTopology } from './machine-topology.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'topology-'));
});
afterEach(async () => await rm(dir, { recursive: true }));

async function writeFiles(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), `${content}\n`);
  }
}
const read = () => readMachineTopology({ sys: join(dir, 'sys'), proc: join(dir, 'proc') });
const cpu = (id: number, core: number, socket: number): Record<string, string> => ({
  [`sys/devices/system/cpu/cpu${id}/topology/core_id`]: `${core}`,
  [`sys/devices/system/cpu/cpu${id}/topology/physical_package_id`]: `${socket}`,
});
const cache = (id: number, index: number, level: number, type: string, size: string, list: string) => ({
  // An older kernel does not number the first level.
  ...(level > 1 && { [`sys/devices/system/cpu/cpu${id}/cache/index${index}/id`]: `${level * 10}` }),
  [`sys/devices/system/cpu/cpu${id}/cache/index${index}/level`]: `${level}`,
  [`sys/devices/system/cpu/cpu${id}/cache/index${index}/type`]: type,
  [`sys/devices/system/cpu/cpu${id}/cache/index${index}/size`]: size,
  [`sys/devices/system/cpu/cpu${id}/cache/index${index}/shared_cpu_list`]: list,
});

test('reads two sockets with a NUMA node each and two threads per core, without offline CPUs', async () => {
  const node = (id: number, list: string, distance: string): Record<string, string> => ({
    [`sys/devices/system/node/node${id}/cpulist`]: list,
    [`sys/devices/system/node/node${id}/distance`]: distance,
    [`sys/devices/system/node/node${id}/meminfo`]: `Node ${id} MemTotal:       ${id + 1}000 kB`,
    [`sys/devices/system/node/node${id}/hugepages/hugepages-2048kB/nr_hugepages`]: `${id}`,
  });
  await writeFiles({
    'sys/devices/system/cpu/online': '0-2,4',
    'sys/devices/system/node/online': '0-1',
    ...node(0, '0-1', '10 21'),
    ...node(1, '2-4', '21 10'),
    ...cpu(0, 0, 0),
    ...cpu(1, 0, 0),
    ...cpu(2, 0, 1),
    ...cpu(3, 1, 1),
    ...cpu(4, 1, 1),
    ...cache(0, 0, 1, 'Data', '32K', '0-1'),
    ...cache(1, 0, 1, 'Data', '32K', '0-1'),
    ...cache(0, 3, 3, 'Unified', '8M', '0-1'),
  });
  expect(await read()).toEqual({
    sockets: 2,
    cores: 3,
    threads: 4,
    nodes: [
      {
        id: 0,
        memoryBytes: 1_024_000n,
        hugePages: [{ sizeBytes: 2n << 20n, count: 0n }],
        distances: [10, 21],
        threads: [
          { id: 0, core: 0, socket: 0 },
          { id: 1, core: 0, socket: 0 },
        ],
        caches: [
          { id: undefined, level: 1, type: 'Data', sizeBytes: 32_768n, threads: [0, 1] },
          { id: 30, level: 3, type: 'Unified', sizeBytes: 8n << 20n, threads: [0, 1] },
        ],
      },
      {
        id: 1,
        memoryBytes: 2_048_000n,
        hugePages: [{ sizeBytes: 2n << 20n, count: 1n }],
        distances: [21, 10],
        threads: [
          { id: 2, core: 0, socket: 1 },
          { id: 4, core: 1, socket: 1 },
        ],
        caches: [],
      },
    ],
  });
});

test('reports a machine without NUMA as one node', async () => {
  await writeFiles({
    'sys/devices/system/cpu/online': '0',
    'proc/meminfo': 'MemTotal: 5 kB',
    ...cpu(0, 0, 0),
  });
  expect(await read()).toMatchObject({
    sockets: 1,
    cores: 1,
    threads: 1,
    nodes: [{ id: 0, memoryBytes: 5120n, distances: [10] }],
  });
});

test('reads a consistent topology of this machine', async () => {
  const { cores, nodes, sockets, threads } = await readMachineTopology();
  expect(threads).toBeGreaterThanOrEqual(availableParallelism());
  expect(cores).toBeLessThanOrEqual(threads);
  expect(sockets).toBeLessThanOrEqual(cores);
  expect(nodes.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0n)).toBeGreaterThan(0n);
});
