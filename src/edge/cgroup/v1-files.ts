// The cgroup v1 files to write for given settings, in the order that the kernel requires. Pure.
// Upstream: the Set methods of libcontainer's fs (cpu.go, memory.go, pids.go, cpuset.go, hugetlb.go).
import type { CgroupSettings } from '../../api/ports/cgroups.ts';

export interface V1File {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
}

/** Settings that are absent or 0 are left unchanged; -1 removes a limit. */
export function filesOfV1(settings: CgroupSettings, pageSizes: readonly string[]): readonly V1File[] {
  const { cpuPeriodUs, cpuQuotaUs, cpuShares, cpus, hugePageLimits, memoryLimitBytes, pidsLimit } = settings;
  const files: V1File[] = [];
  const add = (controller: string, file: string, value: bigint | string | undefined): void => {
    if (value !== undefined && value !== 0n && value !== '')
      files.push({ controller, file: `${controller}.${file}`, value: `${value}` });
  };
  add('cpu', 'shares', cpuShares);
  add('cpu', 'cfs_period_us', cpuPeriodUs);
  add('cpu', 'cfs_quota_us', cpuQuotaUs);
  add('memory', 'limit_in_bytes', memoryLimitBytes);
  add('pids', 'max', pidsLimit !== undefined && pidsLimit < 0n ? 'max' : pidsLimit);
  add('cpuset', 'cpus', cpus);
  if (hugePageLimits !== undefined) {
    // A page size without a limit is limited to 0.
    for (const size of pageSizes) {
      const limit = `${hugePageLimits[size] ?? 0n}`;
      add('hugetlb', `${size}.limit_in_bytes`, limit);
      add('hugetlb', `${size}.rsvd.limit_in_bytes`, limit);
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

/** Whether every new cgroup has this value. */
export function isKernelDefault({ file, value }: V1File): boolean {
  return kernelDefaults[file] === value;
}
