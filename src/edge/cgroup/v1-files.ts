// What the files of version 1 are told, in the order in which the kernel takes them. Pure.
// Upstream: the Set methods of libcontainer's fs (cpu.go, memory.go, pids.go, cpuset.go, hugetlb.go).
import type { CgroupSettings } from '../../api/ports/cgroups.ts';

export interface V1File {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
}

/** What is not said, or 0, is left alone; -1 lifts a limit. */
export function filesOfV1(settings: CgroupSettings, pageSizes: readonly string[]): readonly V1File[] {
  const { cpuPeriodUs, cpuQuotaUs, cpuShares, cpus, hugePageLimits, memoryLimitBytes, pidsLimit } = settings;
  const files: V1File[] = [];
  const say = (controller: string, file: string, value: bigint | string | undefined): void => {
    if (value !== undefined && value !== 0n && value !== '')
      files.push({ controller, file: `${controller}.${file}`, value: `${value}` });
  };
  say('cpu', 'shares', cpuShares);
  say('cpu', 'cfs_period_us', cpuPeriodUs);
  say('cpu', 'cfs_quota_us', cpuQuotaUs);
  say('memory', 'limit_in_bytes', memoryLimitBytes);
  say('pids', 'max', pidsLimit !== undefined && pidsLimit < 0n ? 'max' : pidsLimit);
  say('cpuset', 'cpus', cpus);
  if (hugePageLimits !== undefined) {
    // A size that is not named is limited to none.
    for (const size of pageSizes) {
      const limit = `${hugePageLimits[size] ?? 0n}`;
      say('hugetlb', `${size}.limit_in_bytes`, limit);
      say('hugetlb', `${size}.rsvd.limit_in_bytes`, limit);
    }
  }
  return files;
}

/** Documentation/scheduler/sched-design-CFS.rst, sched-bwc.rst and admin-guide/cgroup-v1 of the kernel. */
const kernelDefaults: Readonly<Record<string, string>> = {
  'cpu.shares': '1024',
  'cpu.cfs_period_us': '100000',
  'cpu.cfs_quota_us': '-1',
  'memory.limit_in_bytes': '-1',
  'pids.max': 'max',
};

/** Whether a new cgroup has this already. */
export function isKernelDefault({ file, value }: V1File): boolean {
  return kernelDefaults[file] === value;
}
