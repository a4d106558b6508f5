// The capacity of this machine: CPUs, memory, disk, huge pages, processes. Upstream: cadvisor's machine info and
// pkg/kubelet/stats/pidlimit. Invariant: a value that the kernel does not report is undefined, never a guess.
import { readdir, readFile, statfs } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';

interface MachineCapacityFacts {
  readonly cpus: number;
  readonly memoryBytes: bigint;
  readonly storageBytes: bigint | undefined;
  readonly hugePages: readonly { readonly sizeBytes: bigint; readonly count: bigint }[];
  readonly maxProcesses: bigint | undefined;
}

interface MachineCapacitySources {
  readonly proc: string;
  readonly sys: string;
  readonly cpus: () => number;
}

const kernel: MachineCapacitySources = { proc: '/proc', sys: '/sys', cpus: () => cpus().length };

/** `rootDir`: the kubelet's root directory, whose file system pods share. */
export async function readMachineCapacity(
  rootDir: string,
  sources: MachineCapacitySources = kernel,
): Promise<MachineCapacityFacts> {
  const { proc, sys } = sources;
  return {
    cpus: sources.cpus(),
    memoryBytes: totalMemory(await readFile(join(proc, 'meminfo'), 'utf8')),
    storageBytes: await statfs(rootDir, { bigint: true }).then(
      ({ bsize, blocks }) => bsize * blocks,
      () => undefined,
    ),
    hugePages: await hugePagePools(join(sys, 'kernel/mm/hugepages')),
    maxProcesses: await maxProcesses(proc),
  };
}

function totalMemory(text: string): bigint {
  const kibibytes = /^MemTotal:\s+(\d+) kB$/m.exec(text)?.[1] ?? '0';
  return BigInt(kibibytes) * 1024n;
}

async function hugePagePools(directory: string): Promise<MachineCapacityFacts['hugePages']> {
  const names = await readdir(directory).catch(() => []);
  const pools = await Promise.all(
    names.map(async (name) => {
      const kibibytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
      const count = await readNumber(join(directory, name, 'nr_hugepages'));
      return kibibytes === undefined || count === undefined
        ? []
        : [{ sizeBytes: BigInt(kibibytes) * 1024n, count }];
    }),
  );
  return pools.flat().toSorted((a, b) => Number(a.sizeBytes - b.sizeBytes));
}

/** The lower one of the kernel's two limits. */
async function maxProcesses(proc: string): Promise<bigint | undefined> {
  const limits = await Promise.all(
    ['pid_max', 'threads-max'].map((name) => readNumber(join(proc, 'sys/kernel', name))),
  );
  const reported = limits.filter((each) => each !== undefined);
  return reported.length === 0 ? undefined : reported.reduce((a, b) => (b < a ? b : a));
}

async function readNumber(path: string): Promise<bigint | undefined> {
  const text = (await readFile(path, 'utf8').catch(() => '')).trim();
  return /^\d+$/.test(text) ? BigInt(text) : undefined;
}
