// Cgroup v2: one hierarchy, whose controllers are enabled level by level.
// Upstream: cgroup_v2_manager_linux.go over libcontainer's fs2.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CgroupSettings, CpuSettings } from '../../api/ports/cgroups.ts';
import { sharesToWeight, weightToShares } from '../../api/quantity/cpu-shares.ts';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { readCgroupFile, readCgroupNumber, writeCgroupFile, writeLimit } from './cgroup-files.ts';
import type { CgroupKind } from './cgroup-kind.ts';
import { words } from './hierarchies.ts';

interface CgroupV2Options {
  readonly root: string;
  /** The controllers that the kubelet uses and the kernel has. */
  readonly controllers: ReadonlySet<string>;
  readonly pageSizes: readonly string[];
}

export function cgroupV2({ root, controllers, pageSizes }: CgroupV2Options): CgroupKind {
  const files = (settings: CgroupSettings): readonly V2File[] => filesOf(settings, controllers, pageSizes);
  const create = async (path: string, settings: CgroupSettings): Promise<void> => {
    const isNew = await createCgroup(root, path, controllers);
    await writeSettings(root, path, isNew ? files(settings).filter(differsFromDefault) : files(settings));
  };
  return {
    version: 2,
    missing: async (path) => {
      const cgroupDir = join(root, path);
      const missing = await missingControllers(cgroupDir, controllers).catch(() => undefined);
      if (missing === undefined) return `${cgroupDir} does not exist`;
      return missing.length === 0 ? undefined : `missing controllers: ${missing.join(', ')}`;
    },
    create,
    // The only hierarchy: nothing can be left to the runtime.
    begin: create,
    apply: (path, settings) => writeSettings(root, path, files(settings)),
    memoryUsageBytes: (path) => readCgroupNumber(join(root, path, 'memory.current')),
    memoryLimitBytes: (path) => readCgroupNumber(join(root, path, 'memory.max')),
    cpu: (path) => readCpu(join(root, path)),
  };
}

const defaultPeriodUs = 100_000n;

type V2File = readonly [file: string, value: string];

/** The files are independent of each other and written concurrently. */
async function writeSettings(root: string, path: string, files: readonly V2File[]): Promise<void> {
  await settleAll([...new Map(files)].map(([file, value]) => writeLimit(join(root, path, file), value)));
}

/**
 * Returns whether it was created now. Its ancestors usually have their controllers enabled, except for the node's first pod:
 * if the new cgroup lacks some, they are enabled at every level.
 */
async function createCgroup(root: string, path: string, controllers: ReadonlySet<string>): Promise<boolean> {
  const cgroupDir = join(root, path);
  const isNew = await createDirectory(cgroupDir).catch((err: unknown) => {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw hostError(err, `cannot create cgroup ${cgroupDir}`);
  });
  if (isNew !== undefined && (await hasControllers(cgroupDir, controllers))) return isNew;
  let parent = root;
  for (const part of path.split('/').filter((each) => each !== '')) {
    await enableControllers(parent, controllers);
    parent = join(parent, part);
    const each = parent;
    await createDirectory(each).catch((err: unknown) => {
      throw hostError(err, `cannot create cgroup ${each}`);
    });
  }
  return isNew ?? true;
}

async function createDirectory(cgroupDir: string): Promise<boolean> {
  try {
    await mkdir(cgroupDir, { mode: 0o755 });
    return true;
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false;
    throw err;
  }
}

async function hasControllers(cgroupDir: string, controllers: ReadonlySet<string>): Promise<boolean> {
  return await missingControllers(cgroupDir, controllers).then(
    (list) => list.length === 0,
    () => false,
  );
}

async function missingControllers(
  cgroupDir: string,
  controllers: ReadonlySet<string>,
): Promise<readonly string[]> {
  const enabled = words(await readCgroupFile(join(cgroupDir, 'cgroup.controllers')));
  return [...controllers].filter((each) => !enabled.includes(each)).toSorted();
}

/** Documentation/admin-guide/cgroup-v2.rst of the kernel. */
const kernelDefaults: Readonly<Record<string, string>> = {
  'cpu.weight': '100',
  'cpu.max': 'max 100000',
  'memory.max': 'max',
  'memory.min': '0',
  'memory.high': 'max',
  'pids.max': 'max',
};

function differsFromDefault([file, value]: V2File): boolean {
  return kernelDefaults[file] !== value;
}

/** The files to write with their values, in upstream's order. */
export function filesOf(
  settings: CgroupSettings,
  controllers: ReadonlySet<string>,
  pageSizes: readonly string[],
): readonly V2File[] {
  const { cpuPeriodUs: period, cpuQuotaUs: quota, cpuShares, memoryLimitBytes, pidsLimit } = settings;
  const files: [string, string][] = [];
  if (pidsLimit !== undefined && pidsLimit !== 0n) files.push(['pids.max', limitText(pidsLimit)]);
  if (memoryLimitBytes !== undefined && memoryLimitBytes !== 0n)
    files.push(['memory.max', limitText(memoryLimitBytes)]);
  if (cpuShares !== undefined && cpuShares !== 0n) files.push(['cpu.weight', `${sharesToWeight(cpuShares)}`]);
  const hasQuota = quota !== undefined && quota !== 0n;
  const hasPeriod = period !== undefined && period !== 0n;
  if (hasQuota || hasPeriod) {
    const amount = hasQuota && quota > 0n ? `${quota}` : 'max';
    files.push(['cpu.max', `${amount} ${hasPeriod ? period : defaultPeriodUs}`]);
  }
  if (settings.cpus !== undefined && settings.cpus !== '') files.push(['cpuset.cpus', settings.cpus]);
  if (settings.hugePageLimits !== undefined && controllers.has('hugetlb')) {
    for (const size of pageSizes) {
      const limit = `${settings.hugePageLimits[size] ?? 0n}`;
      files.push([`hugetlb.${size}.max`, limit], [`hugetlb.${size}.rsvd.max`, limit]);
    }
  }
  for (const [file, value] of Object.entries(settings.unified ?? {})) {
    // The name becomes part of a path.
    if (!/^[a-z][\w.]*$/.test(file))
      throw new KubeletError('invalid', 'CgroupFile', `${JSON.stringify(file)} is not a cgroup file`);
    files.push([file, value]);
  }
  return files;
}

function limitText(limit: bigint): string {
  return limit > 0n ? `${limit}` : 'max';
}

/** Enables all at once, or one by one if the kernel rejects some. `missing` reports those that the kernel does not have. */
async function enableControllers(cgroupDir: string, controllers: ReadonlySet<string>): Promise<void> {
  const file = join(cgroupDir, 'cgroup.subtree_control');
  const enabled = words(await readCgroupFile(file));
  const additions = [...controllers].filter((each) => !enabled.includes(each)).map((each) => `+${each}`);
  if (additions.length === 0) return;
  const failures: Error[] = [];
  const write = async (text: string): Promise<boolean> =>
    await writeCgroupFile(file, text).then(
      () => true,
      (err: Error) => {
        failures.push(err);
        return false;
      },
    );
  if (await write(additions.join(' '))) return;
  const succeeded: boolean[] = [];
  for (const each of additions) succeeded.push(await write(each));
  if (!succeeded.includes(true)) throw failures[0] ?? new Error('no controller was enabled');
}

async function readCpu(cgroupDir: string): Promise<CpuSettings> {
  const text = await readCgroupFile(join(cgroupDir, 'cpu.max'));
  const [quota, period] = words(text);
  if (quota === undefined || period === undefined || !/^(max|\d+)$/.test(quota) || !/^\d+$/.test(period))
    throw new KubeletError(
      'internal',
      'CgroupValue',
      `cpu.max of ${cgroupDir} holds ${JSON.stringify(text)}`,
    );
  return {
    cpuShares: weightToShares(await readCgroupNumber(join(cgroupDir, 'cpu.weight'))),
    cpuQuotaUs: quota === 'max' ? -1n : BigInt(quota),
    cpuPeriodUs: BigInt(period),
  };
}
