// Control groups of version 1: one hierarchy per controller. Upstream: cgroup_v1_manager_linux.go over libcontainer's fs.
import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CgroupSettings, CpuSettings } from '../../api/cgroups.ts';
import { KubeletError } from '../../base/errors.ts';
import { hostError } from '../host/syscalls-errors.ts';
import { readCgroupFile, readCgroupNumber, writeCgroupFile } from './cgroup-files.ts';
import type { CgroupKind } from './cgroup-kind.ts';

/** A cgroup is whole when it is in each of these hierarchies that the machine has. */
const neededControllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb'];

export function cgroupV1(mountPoints: ReadonlyMap<string, string>, pageSizes: readonly string[]): CgroupKind {
  const controllers = neededControllers.filter((each) => mountPoints.has(each));
  const directory = (controller: string, path: string): string => {
    const mount = mountPoints.get(controller);
    if (mount === undefined)
      throw new KubeletError('unavailable', 'NoController', `cgroup controller ${controller} is not mounted`);
    return join(mount, path);
  };
  return {
    version: 1,
    missing: async (path) => {
      const missing: string[] = [];
      for (const controller of controllers) {
        const place = directory(controller, path);
        if (!(await exists(place))) missing.push(place);
      }
      return missing.length === 0 ? undefined : `missing paths: ${missing.join(', ')}`;
    },
    make: async (path) => {
      for (const controller of mountPoints.keys()) {
        const place = directory(controller, path);
        await makeDirectory(place);
        if (controller === 'cpuset') await inheritCpuset(mountPoints.get(controller) ?? '', place);
      }
    },
    apply: async (path, settings) => {
      await applyCpu(settings, (file) => join(directory('cpu', path), file));
      await applyRest(settings, (controller, file) => join(directory(controller, path), file));
      if (settings.hugePageLimits !== undefined && mountPoints.has('hugetlb')) {
        for (const size of pageSizes) {
          const limit = settings.hugePageLimits[size] ?? 0n;
          await writeCgroupFile(
            join(directory('hugetlb', path), `hugetlb.${size}.limit_in_bytes`),
            `${limit}`,
          );
        }
      }
    },
    memoryUsageBytes: (path) => readCgroupNumber(join(directory('memory', path), 'memory.usage_in_bytes')),
    memoryLimitBytes: (path) => readCgroupNumber(join(directory('memory', path), 'memory.limit_in_bytes')),
    cpu: (path) => readCpu(directory('cpu', path)),
  };
}

async function readCpu(place: string): Promise<CpuSettings> {
  return {
    cpuShares: await readCgroupNumber(join(place, 'cpu.shares')),
    cpuQuotaUs: await readCgroupNumber(join(place, 'cpu.cfs_quota_us')),
    cpuPeriodUs: await readCgroupNumber(join(place, 'cpu.cfs_period_us')),
  };
}

async function applyCpu(settings: CgroupSettings, file: (name: string) => string): Promise<void> {
  const { cpuPeriodUs, cpuQuotaUs, cpuShares } = settings;
  if (cpuShares !== undefined && cpuShares !== 0n) await writeCgroupFile(file('cpu.shares'), `${cpuShares}`);
  const period = cpuPeriodUs !== undefined && cpuPeriodUs !== 0n ? `${cpuPeriodUs}` : undefined;
  const quota = cpuQuotaUs !== undefined && cpuQuotaUs !== 0n ? `${cpuQuotaUs}` : undefined;
  // With the old quota a new period may be more than the parent grants; with the new quota it is not.
  const early =
    period === undefined ? undefined : await failureOf(writeCgroupFile(file('cpu.cfs_period_us'), period));
  if (early !== undefined && quota === undefined) throw early;
  if (quota !== undefined) await writeCgroupFile(file('cpu.cfs_quota_us'), quota);
  if (early !== undefined && period !== undefined) await writeCgroupFile(file('cpu.cfs_period_us'), period);
}

async function failureOf(work: Promise<void>): Promise<Error | undefined> {
  try {
    await work;
    return undefined;
  } catch (err) {
    return err instanceof Error ? err : new Error('writing failed', { cause: err });
  }
}

async function applyRest(
  settings: CgroupSettings,
  file: (controller: string, name: string) => string,
): Promise<void> {
  const { cpus, memoryLimitBytes: memory, pidsLimit: pids } = settings;
  if (memory !== undefined && memory !== 0n)
    await writeCgroupFile(file('memory', 'memory.limit_in_bytes'), `${memory}`);
  if (pids !== undefined && pids !== 0n)
    await writeCgroupFile(file('pids', 'pids.max'), pids > 0n ? `${pids}` : 'max');
  if (cpus !== undefined && cpus !== '') await writeCgroupFile(file('cpuset', 'cpuset.cpus'), cpus);
}

/** A cpuset begins empty, and nothing can run in an empty one: it takes what the one above it has. */
async function inheritCpuset(mount: string, place: string): Promise<void> {
  if (place === mount) return;
  const parent = dirname(place);
  await inheritCpuset(mount, parent);
  for (const name of ['cpuset.cpus', 'cpuset.mems']) {
    if ((await readCgroupFile(join(place, name))) !== '') continue;
    await writeCgroupFile(join(place, name), await readCgroupFile(join(parent, name)));
  }
}

async function makeDirectory(place: string): Promise<void> {
  try {
    await mkdir(place, { recursive: true, mode: 0o755 });
  } catch (err) {
    throw hostError(err, `cannot make cgroup ${place}`);
  }
}

async function exists(place: string): Promise<boolean> {
  return await stat(place).then(
    () => true,
    () => false,
  );
}
