// Each value with where upstream has it.
import { expect, test } from 'vitest';
import { filesOfV1, isKernelDefault } from './v1-files.ts';

const cases = [
  ['nothing', {}, []],
  [
    '0 is not said (cpu.go, memory.go, pids.go of libcontainer)',
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
  ['processors (cpuset.go)', { cpus: '0-1' }, ['cpuset.cpus=0-1']],
  [
    'a page size that is not named has none (maybeSetHugetlb)',
    { hugePageLimits: { '1GB': 7n } },
    [
      'hugetlb.2MB.limit_in_bytes=0',
      'hugetlb.2MB.rsvd.limit_in_bytes=0',
      'hugetlb.1GB.limit_in_bytes=7',
      'hugetlb.1GB.rsvd.limit_in_bytes=7',
    ],
  ],
  ['unified is not for v1 (toResources)', { unified: { 'memory.min': '5' } }, []],
] as const;
for (const [name, settings, want] of cases)
  test(name, () =>
    expect(filesOfV1(settings, ['2MB', '1GB']).map(({ file, value }) => `${file}=${value}`)).toEqual(want),
  );

test('what the kernel gives every new cgroup', () => {
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
