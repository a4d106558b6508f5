// Control groups of version 1: one hierarchy per controller. Upstream: cgroup_v1_manager_linux.go over libcontainer's fs.
// Invariants: hierarchies do not wait for each other; a new cgroup is told only what differs from what the kernel gives
// every new one, an old one everything.
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CgroupSettings, CpuSettings } from '../../api/ports/cgroups.ts';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { readCgroupFile, readCgroupNumber, writeCgroupFile, writeLimit } from './cgroup-files.ts';
import type { CgroupKind } from './cgroup-kind.ts';
import { isDirectory } from './cgroup-tree.ts';
import { filesOfV1, isKernelDefault, type V1File } from './v1-files.ts';

/** A cgroup is whole when it is in each of these hierarchies that the machine has. */
const neededControllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb'];

export function cgroupV1(mountPoints: ReadonlyMap<string, string>, pageSizes: readonly string[]): CgroupKind {
  const roots = [...new Set(mountPoints.values())];
  const needed = new Set(neededControllers.flatMap((each) => mountPoints.get(each) ?? []));
  const directory = (controller: string, path: string): string => {
    const mount = mountPoints.get(controller);
    if (mount === undefined)
      throw new KubeletError('unavailable', 'NoController', `cgroup controller ${controller} is not mounted`);
    return join(mount, path);
  };
  /** `fresh`: the hierarchies in which the cgroup was made just now. */
  const tell = async (path: string, settings: CgroupSettings, fresh: ReadonlySet<string>): Promise<void> => {
    const files = filesOfV1(settings, pageSizes).filter(
      ({ controller }) => controller !== 'hugetlb' || mountPoints.has('hugetlb'),
    );
    const isNew = (controller: string): boolean => fresh.has(mountPoints.get(controller) ?? '');
    const byController = new Map<string, V1File[]>();
    for (const file of files) {
      if (isNew(file.controller) && isKernelDefault(file)) continue;
      const list = byController.get(file.controller) ?? [];
      byController.set(file.controller, [...list, file]);
    }
    await settleAll(
      [...byController].map(([controller, list]) => writeAll(directory(controller, path), list)),
    );
  };
  /** Amounts that are asked for are written beside this: what is inherited must not come after them. */
  const inheritCpuset = async (path: string, settings: CgroupSettings, isNew: boolean): Promise<void> => {
    const mount = mountPoints.get('cpuset');
    if (mount === undefined) return;
    const names = settings.cpus === undefined || settings.cpus === '' ? ['cpus', 'mems'] : ['mems'];
    await settleAll(names.map((name) => inheritFile(mount, join(mount, path), `cpuset.${name}`, isNew)));
  };
  const make = async (path: string, places: readonly string[]): Promise<ReadonlySet<string>> => {
    const made = new Set<string>();
    await settleAll(
      places.map(async (root) => {
        if (await makeDirectory(join(root, path))) made.add(root);
      }),
    );
    return made;
  };
  const create = async (path: string, settings: CgroupSettings): Promise<void> => {
    const made = await make(path, roots);
    const isNew = made.has(mountPoints.get('cpuset') ?? '');
    await settleAll([tell(path, settings, made), inheritCpuset(path, settings, isNew)]);
  };
  return {
    version: 1,
    missing: async (path) => {
      const places = [...needed].map((root) => join(root, path));
      const there = await Promise.all(places.map(isDirectory));
      const missing = places.filter((_, at) => !there[at]);
      return missing.length === 0 ? undefined : `missing paths: ${missing.join(', ')}`;
    },
    create,
    begin: async (path, settings) => {
      const told = filesOfV1(settings, pageSizes).filter((file) => !isKernelDefault(file));
      const places = [...new Set(told.flatMap(({ controller }) => mountPoints.get(controller) ?? []))];
      // One that has processors of its own has to have memory nodes as well.
      const isSimple = !told.some(({ controller }) => controller === 'cpuset');
      const made = isSimple ? await make(path, places) : new Set<string>();
      if (places.length > 0 && made.size === places.length) await tell(path, settings, made);
      else await create(path, settings);
    },
    apply: (path, settings) => tell(path, settings, new Set()),
    memoryUsageBytes: (path) => readCgroupNumber(join(directory('memory', path), 'memory.usage_in_bytes')),
    memoryLimitBytes: (path) => readCgroupNumber(join(directory('memory', path), 'memory.limit_in_bytes')),
    cpu: (path) => readCpu(directory('cpu', path)),
  };
}

async function readCpu(place: string): Promise<CpuSettings> {
  const [cpuShares, cpuQuotaUs, cpuPeriodUs] = await Promise.all([
    readCgroupNumber(join(place, 'cpu.shares')),
    readCgroupNumber(join(place, 'cpu.cfs_quota_us')),
    readCgroupNumber(join(place, 'cpu.cfs_period_us')),
  ]);
  return { cpuShares, cpuQuotaUs, cpuPeriodUs };
}

/**
 * One file after the other. With the old quota a new period may be more than the parent grants, with the new quota it is
 * not: a period that is refused is tried once more at the end.
 */
async function writeAll(place: string, files: readonly V1File[]): Promise<void> {
  const hasQuota = files.some(({ file }) => file === 'cpu.cfs_quota_us');
  const again: V1File[] = [];
  for (const each of files) {
    try {
      await writeLimit(join(place, each.file), each.value);
    } catch (err) {
      const mayPass = each.file === 'cpu.cfs_period_us' && hasQuota && isRefusal(err);
      if (!mayPass) throw err;
      again.push(each);
    }
  }
  for (const { file, value } of again) await writeCgroupFile(join(place, file), value);
}

function isRefusal(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === 'EINVAL';
}

/** A new cpuset is empty, and nothing can run in an empty one: it takes what the one above it has. */
async function inheritFile(mount: string, place: string, file: string, isNew: boolean): Promise<void> {
  if (place === mount) return;
  if (!isNew && (await readCgroupFile(join(place, file))) !== '') return;
  await writeCgroupFile(join(place, file), await inheritedValue(mount, dirname(place), file));
}

/** What this cgroup has; one that is empty itself is given what lies above it first. */
async function inheritedValue(mount: string, place: string, file: string): Promise<string> {
  const own = await readCgroupFile(join(place, file));
  if (own !== '' || place === mount) return own;
  const value = await inheritedValue(mount, dirname(place), file);
  await writeCgroupFile(join(place, file), value);
  return value;
}

/** Whether it was made just now. Its parent is there already, but for the first pod of a node. */
async function makeDirectory(place: string): Promise<boolean> {
  try {
    await mkdir(place, { mode: 0o755 }).catch(async (err: unknown) => {
      if (errorCode(err) !== 'ENOENT') throw err;
      await mkdir(place, { recursive: true, mode: 0o755 });
    });
    return true;
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false;
    throw hostError(err, `cannot make cgroup ${place}`);
  }
}
