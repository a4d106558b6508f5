// Control groups of version 2: one hierarchy, whose controllers are handed down level by level.
// Upstream: cgroup_v2_manager_linux.go over libcontainer's fs2.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CgroupSettings, CpuSettings } from '../../api/cgroups.ts';
import { sharesToWeight, weightToShares } from '../../api/cpu-shares.ts';
import { KubeletError } from '../../base/errors.ts';
import { hostError } from '../host/syscalls-errors.ts';
import { readCgroupFile, readCgroupNumber, writeCgroupFile } from './cgroup-files.ts';
import type { CgroupKind } from './cgroup-kind.ts';
import { words } from './hierarchies.ts';

export interface CgroupV2Options {
  readonly root: string;
  /** Of those a kubelet uses, what the kernel has. */
  readonly controllers: ReadonlySet<string>;
  readonly pageSizes: readonly string[];
}

export function cgroupV2({ root, controllers, pageSizes }: CgroupV2Options): CgroupKind {
  return {
    version: 2,
    missing: async (path) => {
      const enabled = await readCgroupFile(join(root, path, 'cgroup.controllers')).then(
        words,
        () => undefined,
      );
      if (enabled === undefined) return `${join(root, path)} does not exist`;
      const lacking = [...controllers].filter((each) => !enabled.includes(each)).toSorted();
      return lacking.length === 0 ? undefined : `missing controllers: ${lacking.join(', ')}`;
    },
    make: async (path) => {
      let place = root;
      for (const part of path.split('/').filter((each) => each !== '')) {
        await handDown(place, controllers);
        place = join(place, part);
        await mkdir(place, { mode: 0o755 }).catch((err: unknown) => {
          if (!(err instanceof Error && 'code' in err && err.code === 'EEXIST'))
            throw hostError(err, `cannot make cgroup ${place}`);
        });
      }
    },
    apply: async (path, settings) => {
      for (const [file, value] of filesOf(settings, controllers, pageSizes))
        await writeCgroupFile(join(root, path, file), value);
    },
    memoryUsageBytes: (path) => readCgroupNumber(join(root, path, 'memory.current')),
    memoryLimitBytes: (path) => readCgroupNumber(join(root, path, 'memory.max')),
    cpu: (path) => readCpu(join(root, path)),
  };
}

/** What the kernel is told, file by file, in the order in which upstream does. */
export function filesOf(
  settings: CgroupSettings,
  controllers: ReadonlySet<string>,
  pageSizes: readonly string[],
): readonly (readonly [file: string, value: string])[] {
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
    files.push(['cpu.max', hasPeriod ? `${amount} ${period}` : amount]);
  }
  if (settings.cpus !== undefined && settings.cpus !== '') files.push(['cpuset.cpus', settings.cpus]);
  if (settings.hugePageLimits !== undefined && controllers.has('hugetlb')) {
    for (const size of pageSizes)
      files.push([`hugetlb.${size}.max`, `${settings.hugePageLimits[size] ?? 0n}`]);
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
