import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readMachineCapacity } from './machine-capacity.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'machine-'));
});
afterEach(async () => await rm(dir, { recursive: true }));

async function writeFiles(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
}
const sources = () => ({ proc: join(dir, 'proc'), sys: join(dir, 'sys'), cpus: () => 3 });

test('reads CPUs, memory, storage, huge pages and the process limit', async () => {
  await writeFiles({
    'proc/meminfo': 'MemTotal:        1000 kB\nMemFree:          10 kB\n',
    'proc/sys/kernel/pid_max': '4194304\n',
    'proc/sys/kernel/threads-max': '1000\n',
    'sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '1\n',
    'sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '20\n',
  });
  const { storageBytes, ...rest } = await readMachineCapacity(dir, sources());
  expect(storageBytes).toBeGreaterThan(0n);
  expect(rest).toEqual({
    cpus: 3,
    memoryBytes: 1_024_000n,
    hugePages: [
      { sizeBytes: 2n << 20n, count: 20n },
      { sizeBytes: 1n << 30n, count: 1n },
    ],
    maxProcesses: 1000n,
  });
});

test('leaves values undefined that the kernel does not report', async () => {
  await writeFiles({ 'proc/meminfo': 'MemTotal:        1 kB\n' });
  expect(await readMachineCapacity(join(dir, 'none'), sources())).toEqual({
    cpus: 3,
    memoryBytes: 1024n,
    storageBytes: undefined,
    hugePages: [],
    maxProcesses: undefined,
  });
});
