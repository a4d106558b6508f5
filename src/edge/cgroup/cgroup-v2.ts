// Control groups of version 2: one hierarchy, whose controllers are handed down level by level.
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
  /** Of those a kubelet uses, what the kernel has. */
  readonly controllers: ReadonlySet<string>;
  readonly pageSizes: readonly string[];
}

export function cgroupV2({ root, controllers, pageSizes }: CgroupV2Options): CgroupKind {
  const files = (settings: CgroupSettings): readonly V2File[] => filesOf(settings, controllers, pageSizes);
  const create = async (path: string, settings: CgroupSettings): Promise<void> => {
    const isNew = await make(root, path, controllers);
    await tell(root, path, isNew ? files(settings).filter(differsFromDefault) : files(settings));
  };
  return {
    version: 2,
    missing: async (path) => {
      const place = join(root, path);
      const missing = await lacking(place, controllers).catch(() => undefined);
      if (missing === undefined) return `${place} does not exist`;
      return missing.length === 0 ? undefined : `missing controllers: ${missing.join(', ')}`;
    },
    create,
    // There is only one hierarchy: nothing is left for others to make.
    begin: create,
    apply: (path, settings) => tell(root, path, files(settings)),
    memoryUsageBytes: (path) => readCgroupNumber(join(root, path, 'memory.current')),
    memoryLimitBytes: (path) => readCgroupNumber(join(root, path, 'memory.max')),
    cpu: (path) => readCpu(join(root, path)),
  };
}

const defaultPeriodUs = 100_000n;

type V2File = readonly [file: string, value: string];

/** Each file is a setting of its own: none waits for another. */
async function tell(root: string, path: string, files: readonly V2File[]): Promise<void> {
  await settleAll([...new Map(files)].map(([file, value]) => writeLimit(join(root, path, file), value)));
}

/**
 * Whether it was made just now. What lies above it has handed its controllers down, but for the first pod of a node:
 * where the new one lacks some, every level is asked again.
 */
async function make(root: string, path: string, controllers: ReadonlySet<string>): Promise<boolean> {
  const place = join(root, path);
  const isNew = await makeDirectory(place).catch((err: unknown) => {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw hostError(err, `cannot make cgroup ${place}`);
  });
  if (isNew !== undefined && (await isWhole(place, controllers))) return isNew;
  let above = root;
  for (const part of path.split('/').filter((each) => each !== '')) {
    await handDown(above, controllers);
    above = join(above, part);
    const each = above;
    await makeDirectory(each).catch((err: unknown) => {
      throw hostError(err, `cannot make cgroup ${each}`);
    });
  }
  return isNew ?? true;
}

async function makeDirectory(place: string): Promise<boolean> {
  try {
    await mkdir(place, { mode: 0o755 });
    return true;
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false;
    throw err;
  }
}

async function isWhole(place: string, controllers: ReadonlySet<string>): Promise<boolean> {
  return await lacking(place, controllers).then(
    (list) => list.length === 0,
    () => false,
  );
}

async function lacking(place: string, controllers: ReadonlySet<string>): Promise<readonly string[]> {
  const enabled = words(await readCgroupFile(join(place, 'cgroup.controllers')));
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

/** What the kernel is told, file by file, in the order in which upstream does. */
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
      throw new KubeletError('invalid', 'CgroupFile', `${JSON.stringify(file)} is no file of a cgroup`);
    files.push([file, value]);
  }
  return files;
}

function limitText(limit: bigint): string {
  return limit > 0n ? `${limit}` : 'max';
}

/** All at once, or one by one where the kernel refuses some: those it has not got are found by `missing`. */
async function handDown(place: string, controllers: ReadonlySet<string>): Promise<void> {
  const file = join(place, 'cgroup.subtree_control');
  const enabled = words(await readCgroupFile(file));
  const wanted = [...controllers].filter((each) => !enabled.includes(each)).map((each) => `+${each}`);
  if (wanted.length === 0) return;
  const failures: Error[] = [];
  const write = async (text: string): Promise<boolean> =>
    await writeCgroupFile(file, text).then(
      () => true,
      (err: Error) => {
        failures.push(err);
        return false;
      },
    );
  if (await write(wanted.join(' '))) return;
  const granted: boolean[] = [];
  for (const each of wanted) granted.push(await write(each));
  if (!granted.includes(true)) throw failures[0] ?? new Error('nothing was granted');
}

async function readCpu(place: string): Promise<CpuSettings> {
  const text = await readCgroupFile(join(place, 'cpu.max'));
  const [quota, period] = words(text);
  if (quota === undefined || period === undefined || !/^(max|\d+)$/.test(quota) || !/^\d+$/.test(period))
    throw new KubeletError('internal', 'CgroupValue', `cpu.max of ${place} holds ${JSON.stringify(text)}`);
  return {
    cpuShares: weightToShares(await readCgroupNumber(join(place, 'cpu.weight'))),
    cpuQuotaUs: quota === 'max' ? -1n : BigInt(quota),
    cpuPeriodUs: BigInt(period),
  };
}
