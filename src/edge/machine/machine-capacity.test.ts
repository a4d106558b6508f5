import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readMachineCapacity } from './machine-capacity.ts';

let made: string;
beforeEach(async () => {
  made = await mkdtemp(join(tmpdir(), 'machine-'));
});
afterEach(async () => await rm(made, { recursive: true }));

async function lay(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(made, path)), { recursive: true });
    await writeFile(join(made, path), text);
  }
}
const sources = () => ({ proc: join(made, 'proc'), sys: join(made, 'sys'), cpus: () => 3 });

test('reads what the kernel tells', async () => {
  await lay({
    'proc/meminfo': 'MemTotal:        1000 kB\nMemFree:          10 kB\n',
    'proc/sys/kernel/pid_max': '4194304\n',
    'proc/sys/kernel/threads-max': '1000\n',
    'sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '1\n',
    'sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '20\n',
  });
  const { storageBytes, ...rest } = await readMachineCapacity(made, sources());
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

test('what it does not tell is left open', async () => {
  await lay({ 'proc/meminfo': 'MemTotal:        1 kB\n' });
  expect(await readMachineCapacity(join(made, 'none'), sources())).toEqual({
    cpus: 3,
    memoryBytes: 1024n,
    storageBytes: undefined,
    hugePages: [],
    maxProcesses: undefined,
  });
});
