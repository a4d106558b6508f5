// The cgroup hierarchy around this process: its controllers and the lowest memory limit above it.
import { readFile, stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { findHierarchies, type Hierarchies } from '../cgroup/hierarchies.ts';

interface MemoryLimit {
  readonly cgroup: string;
  readonly bytes: bigint;
}

interface CgroupState {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  readonly memoryLimit: MemoryLimit | undefined;
  readonly machineMemoryBytes: bigint;
  readonly isSystemd: boolean;
}

export async function readCgroups(): Promise<CgroupState> {
  const hierarchies = await findHierarchies();
  const own = ownCgroup(await readFile('/proc/self/cgroup', 'utf8'), hierarchies.version);
  return {
    version: hierarchies.version,
    controllers:
      hierarchies.version === 2 ? [...hierarchies.controllers] : [...hierarchies.mountPoints.keys()],
    memoryLimit: await lowestLimit(hierarchies, own),
    machineMemoryBytes: BigInt(totalmem()),
    // As sd_booted() does.
    isSystemd: await stat('/run/systemd/system').then(
      (found) => found.isDirectory(),
      () => false,
    ),
  };
}

/** The path of this process in the memory hierarchy, from /proc/self/cgroup. */
export function ownCgroup(text: string, version: 1 | 2): string {
  for (const line of text.split('\n')) {
    const [id, controllers = '', ...path] = line.split(':');
    const isMemory = version === 2 ? id === '0' : controllers.split(',').includes('memory');
    if (isMemory) return path.join(':');
  }
  return '/';
}

async function lowestLimit(hierarchies: Hierarchies, own: string): Promise<MemoryLimit | undefined> {
  const root = hierarchies.version === 2 ? hierarchies.root : hierarchies.mountPoints.get('memory');
  if (root === undefined) return undefined;
  const file = hierarchies.version === 2 ? 'memory.max' : 'memory.limit_in_bytes';
  let lowest: MemoryLimit | undefined;
  for (let cgroup = own; ; cgroup = dirname(cgroup)) {
    const bytes = await readLimit(join(root, cgroup, file));
    if (bytes !== undefined && (lowest === undefined || bytes < lowest.bytes)) lowest = { cgroup, bytes };
    if (cgroup === '/' || cgroup === '.') return lowest;
  }
}

async function readLimit(path: string): Promise<bigint | undefined> {
  const text = (await readFile(path, 'utf8').catch(() => '')).trim();
  return /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined;
}
