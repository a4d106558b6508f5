// Each case names upstream's file or function in parentheses.
import { expect, test } from 'vitest';
import { filesOfV1, isKernelDefault } from './v1-files.ts';

const cases = [
  ['no settings', {}, []],
  [
    '0 is not written (cpu.go, memory.go, pids.go of libcontainer)',
    { cpuShares: 0n, cpuQuotaUs: 0n, memoryLimitBytes: 0n, pidsLimit: 0n },
    [],
  ],
  [
    'period before quota (cpu.go)',
    { cpuQuotaUs: 20_000n, cpuPeriodUs: 50_000n, cpuShares: 2n },
    ['cpu.shares=2', 'cpu.cfs_period_us=50000', 'cpu.cfs_quota_us=20000'],
  ],
  [
    'no limits (memory.go, pids.go)',
    { memoryLimitBytes: -1n, pidsLimit: -1n },
    ['memory.limit_in_bytes=-1', 'pids.max=max'],
  ],
  ['CPUs (cpuset.go)', { cpus: '0-1' }, ['cpuset.cpus=0-1']],
  [
    'an unlisted page size is limited to 0 (maybeSetHugetlb)',
    { hugePageLimits: { '1GB': 7n } },
    [
      'hugetlb.2MB.limit_in_bytes=0',
      'hugetlb.2MB.rsvd.limit_in_bytes=0',
      'hugetlb.1GB.limit_in_bytes=7',
      'hugetlb.1GB.rsvd.limit_in_bytes=7',
    ],
  ],
  ['unified is ignored on v1 (toResources)', { unified: { 'memory.min': '5' } }, []],
] as const;
for (const [name, settings, want] of cases)
  test(`filesOfV1: ${name}`, () =>
    expect(filesOfV1(settings, ['2MB', '1GB']).map(({ file, value }) => `${file}=${value}`)).toEqual(want));

test("recognizes the kernel's defaults of a new cgroup", () => {
  const all = filesOfV1(
    {
      cpuShares: 1024n,
      cpuQuotaUs: -1n,
      cpuPeriodUs: 100_000n,
      memoryLimitBytes: -1n,
      pidsLimit: -1n,
      hugePageLimits: {},
    },
    ['2MB'],
  );
  expect(all.filter((each) => !isKernelDefault(each)).map(({ file }) => file)).toEqual([
    'hugetlb.2MB.limit_in_bytes',
    'hugetlb.2MB.rsvd.limit_in_bytes',
  ]);
});
