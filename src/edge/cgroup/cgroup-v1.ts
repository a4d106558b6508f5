// Cgroup v1: one hierarchy per controller. Upstream: cgroup_v1_manager_linux.go over libcontainer's fs.
// Invariants: hierarchies do not wait for each other; a new cgroup gets only the settings that differ from the kernel's
// defaults, an existing one all of them.
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

/** A cgroup is complete if it exists in each of these hierarchies that the machine has. */
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
  /** `fresh`: the hierarchies in which the cgroup was just created. */
  const applySettings = async (
    path: string,
    settings: CgroupSettings,
    fresh: ReadonlySet<string>,
  ): Promise<void> => {
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
  /** Runs concurrently with applySettings, so files that `settings` sets must not be inherited. */
  const inheritCpuset = async (path: string, settings: CgroupSettings, isNew: boolean): Promise<void> => {
    const mount = mountPoints.get('cpuset');
    if (mount === undefined) return;
    const names = settings.cpus === undefined || settings.cpus === '' ? ['cpus', 'mems'] : ['mems'];
    await settleAll(names.map((name) => inheritFile(mount, join(mount, path), `cpuset.${name}`, isNew)));
  };
  /** Returns the hierarchies in which the cgroup did not exist before. */
  const createIn = async (path: string, hierarchies: readonly string[]): Promise<ReadonlySet<string>> => {
    const created = new Set<string>();
    await settleAll(
      hierarchies.map(async (root) => {
        if (await createDirectory(join(root, path))) created.add(root);
      }),
    );
    return created;
  };
  const create = async (path: string, settings: CgroupSettings): Promise<void> => {
    const created = await createIn(path, roots);
    const isNew = created.has(mountPoints.get('cpuset') ?? '');
    await settleAll([applySettings(path, settings, created), inheritCpuset(path, settings, isNew)]);
  };
  return {
    version: 1,
    missing: async (path) => {
      const directories = [...needed].map((root) => join(root, path));
      const exists = await Promise.all(directories.map(isDirectory));
      const missing = directories.filter((_, at) => !exists[at]);
      return missing.length === 0 ? undefined : `missing paths: ${missing.join(', ')}`;
    },
    create,
    begin: async (path, settings) => {
      const all = filesOfV1(settings, pageSizes);
      const files = all.filter((file) => !isKernelDefault(file));
      const rootsOf = (list: readonly V1File[]): ReadonlySet<string> =>
        new Set(list.flatMap(({ controller }) => mountPoints.get(controller) ?? []));
      const hierarchies = rootsOf(files);
      // A cgroup that an earlier kubelet left may have other values than the kernel's defaults.
      const unwritten = [...rootsOf(all)].filter((root) => !hierarchies.has(root));
      const isLeft = await Promise.all(unwritten.map((root) => isDirectory(join(root, path))));
      // A cpuset with CPUs needs memory nodes as well.
      const isSimple = !files.some(({ controller }) => controller === 'cpuset') && !isLeft.includes(true);
      const created = isSimple ? await createIn(path, [...hierarchies]) : new Set<string>();
      if (hierarchies.size > 0 && created.size === hierarchies.size)
        // Where the cgroup was not created, it would be as new.
        await applySettings(path, settings, new Set(roots));
      else await create(path, settings);
    },
    apply: (path, settings) => applySettings(path, settings, new Set()),
    memoryUsageBytes: (path) => readCgroupNumber(join(directory('memory', path), 'memory.usage_in_bytes')),
    memoryLimitBytes: (path) => readCgroupNumber(join(directory('memory', path), 'memory.limit_in_bytes')),
    cpu: (path) => readCpu(directory('cpu', path)),
  };
}

async function readCpu(cgroupDir: string): Promise<CpuSettings> {
  const [cpuShares, cpuQuotaUs, cpuPeriodUs] = await Promise.all([
    readCgroupNumber(join(cgroupDir, 'cpu.shares')),
    readCgroupNumber(join(cgroupDir, 'cpu.cfs_quota_us')),
    readCgroupNumber(join(cgroupDir, 'cpu.cfs_period_us')),
  ]);
  return { cpuShares, cpuQuotaUs, cpuPeriodUs };
}

/**
 * Writes the files in sequence. A new period may exceed the parent's bandwidth with the old quota but not with the new one, so
 * a rejected period is retried at the end.
 */
async function writeAll(cgroupDir: string, files: readonly V1File[]): Promise<void> {
  const hasQuota = files.some(({ file }) => file === 'cpu.cfs_quota_us');
  const retries: V1File[] = [];
  for (const each of files) {
    try {
      await writeLimit(join(cgroupDir, each.file), each.value);
    } catch (err) {
      const isRetriable = each.file === 'cpu.cfs_period_us' && hasQuota && isInvalidValue(err);
      if (!isRetriable) throw err;
      retries.push(each);
    }
  }
  for (const { file, value } of retries) await writeCgroupFile(join(cgroupDir, file), value);
}

function isInvalidValue(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === 'EINVAL';
}

/** No process can run in an empty cpuset, and a new one is empty. It inherits the value of its parent. */
async function inheritFile(mount: string, cgroupDir: string, file: string, isNew: boolean): Promise<void> {
  if (cgroupDir === mount) return;
  if (!isNew && (await readCgroupFile(join(cgroupDir, file))) !== '') return;
  await writeCgroupFile(join(cgroupDir, file), await inheritedValue(mount, dirname(cgroupDir), file));
}

/** The value of this cgroup. An empty cgroup inherits from its own parent first. */
async function inheritedValue(mount: string, cgroupDir: string, file: string): Promise<string> {
  const own = await readCgroupFile(join(cgroupDir, file));
  if (own !== '' || cgroupDir === mount) return own;
  const value = await inheritedValue(mount, dirname(cgroupDir), file);
  await writeCgroupFile(join(cgroupDir, file), value);
  return value;
}

/** Returns whether it was created now. Its parent usually exists, except for the node's first pod. */
async function createDirectory(cgroupDir: string): Promise<boolean> {
  try {
    await mkdir(cgroupDir, { mode: 0o755 }).catch(async (err: unknown) => {
      if (errorCode(err) !== 'ENOENT') throw err;
      await mkdir(cgroupDir, { recursive: true, mode: 0o755 });
    });
    return true;
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false;
    throw hostError(err, `cannot create cgroup ${cgroupDir}`);
  }
}
