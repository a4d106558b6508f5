// Upstream's properties: v1 from systemd/v1.go, v2 from systemd/v2.go, the others from systemd/common.go of libcontainer.
import { describe, expect, test } from 'vitest';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { listToBits, newSliceProperties, resourceProperties, systemdVersionOf } from './unit-properties.ts';

const infinity = 18_446_744_073_709_551_615n;
const shown = (
  settings: CgroupSettings,
  cgroupVersion: 1 | 2,
  systemdVersion = 252,
): Record<string, unknown> =>
  Object.fromEntries(
    resourceProperties(settings, { cgroupVersion, systemdVersion }).map(({ name, value }) => [name, value]),
  );

describe('a new slice (Apply)', () => {
  for (const [version, accounting] of [
    [1, 'BlockIOAccounting'],
    [2, 'IOAccounting'],
  ] as const)
    test(`v${version}`, () =>
      expect(newSliceProperties('a-b.slice', 'a.slice', version)).toEqual([
        { name: 'Description', signature: 's', value: 'libcontainer container a-b.slice' },
        { name: 'Wants', signature: 'as', value: ['a.slice'] },
        { name: 'MemoryAccounting', signature: 'b', value: true },
        { name: 'CPUAccounting', signature: 'b', value: true },
        { name: accounting, signature: 'b', value: true },
        { name: 'TasksAccounting', signature: 'b', value: true },
        { name: 'DefaultDependencies', signature: 'b', value: false },
      ]));
});

describe('resource limits', () => {
  const cases: readonly (readonly [
    string,
    CgroupSettings,
    Record<string, unknown>,
    Record<string, unknown>,
  ])[] = [
    ['nothing', {}, {}, {}],
    [
      '0 is omitted',
      { memoryLimitBytes: 0n, cpuShares: 0n, cpuQuotaUs: 0n, cpuPeriodUs: 0n, pidsLimit: 0n },
      {},
      {},
    ],
    [
      'memory (genV1ResourcesProperties, genV2ResourcesProperties)',
      { memoryLimitBytes: 7n },
      { MemoryLimit: 7n },
      { MemoryMax: 7n },
    ],
    [
      'no memory limit: no swap limit (ConvertMemorySwapToCgroupV2Value)',
      { memoryLimitBytes: -1n },
      { MemoryLimit: infinity },
      { MemoryMax: infinity, MemorySwapMax: infinity },
    ],
    [
      'shares; on v2 their weight (getCPUWeight)',
      { cpuShares: 1024n },
      { CPUShares: 1024n },
      { CPUWeight: 39n },
    ],
    [
      'quota and period (addCpuQuota)',
      { cpuQuotaUs: 50_000n, cpuPeriodUs: 100_000n },
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 500_000n },
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 500_000n },
    ],
    [
      'rounds a fraction of a percent up (addCpuQuota)',
      { cpuQuotaUs: 1_234n, cpuPeriodUs: 100_000n },
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 20_000n },
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 20_000n },
    ],
    [
      'quota without a period: the default period',
      { cpuQuotaUs: 10_000n },
      { CPUQuotaPerSecUSec: 100_000n },
      { CPUQuotaPerSecUSec: 100_000n },
    ],
    [
      'no quota',
      { cpuQuotaUs: -1n, cpuPeriodUs: 100_000n },
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: infinity },
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: infinity },
    ],
    ['processes', { pidsLimit: 9n }, { TasksMax: 9n }, { TasksMax: 9n }],
    ['no limit on processes', { pidsLimit: -1n }, { TasksMax: infinity }, { TasksMax: infinity }],
    [
      'CPUs (addCpuset)',
      { cpus: '0-1,9' },
      { AllowedCPUs: Buffer.from([3, 2]) },
      { AllowedCPUs: Buffer.from([3, 2]) },
    ],
    ['huge pages have no property', { hugePageLimits: { '2MB': 5n } }, {}, {}],
    [
      'unified (unifiedResToSystemdProps): not for v1',
      {
        unified: {
          'memory.min': '5',
          'memory.high': 'max',
          'memory.low': '1',
          'memory.swap.max': '0',
          'pids.max': 'max',
          'cpu.weight': ' 7 ',
          'cpuset.mems': '0',
          'memory.oom.group': '1',
        },
      },
      {},
      {
        MemoryMin: 5n,
        MemoryHigh: infinity,
        MemoryLow: 1n,
        MemorySwapMax: 0n,
        TasksMax: infinity,
        CPUWeight: 7n,
        AllowedMemoryNodes: Buffer.from([1]),
      },
    ],
    [
      'unified cpu.max',
      { unified: { 'cpu.max': '20000 50000' } },
      {},
      { CPUQuotaPeriodUSec: 50_000n, CPUQuotaPerSecUSec: 400_000n },
    ],
    [
      'unified cpu.idle wins over the weight',
      { unified: { 'cpu.idle': '1', 'cpu.weight': '7' } },
      {},
      { CPUWeight: 0n },
    ],
  ];
  for (const [name, settings, v1, v2] of cases)
    test(name, () => expect([shown(settings, 1), shown(settings, 2)]).toEqual([v1, v2]));

  test('omits properties that an old systemd does not support', () => {
    const settings = { cpuQuotaUs: 50_000n, cpuPeriodUs: 100_000n, cpus: '0' };
    expect(shown(settings, 2, 241)).toEqual({ CPUQuotaPerSecUSec: 500_000n });
    expect(shown(settings, 2, 243)).toEqual({ CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 500_000n });
    expect(shown(settings, 1, -1)).toEqual({ CPUQuotaPerSecUSec: 500_000n });
  });

  test('names the file of a value that is not a number', () =>
    expect(() => shown({ unified: { 'memory.min': 'x' } }, 2)).toThrow('memory.min: "x" is not a number'));
});

describe('lists as bits (RangeToBits)', () => {
  for (const [list, bytes] of [
    ['0', [1]],
    ['1,3-5', [0x3a]],
    [' 0-2, ,8', [7, 1]],
    ['63', [0, 0, 0, 0, 0, 0, 0, 0x80]],
  ] as const)
    test(list, () => expect([...listToBits(list)]).toEqual(bytes));
  for (const list of ['', 'x', '3-1', '1-', ','])
    test(`rejects ${JSON.stringify(list)}`, () => expect(() => listToBits(list)).toThrow('is not a list'));
});

test('versions (systemdVersionAtoi)', () => {
  expect(['252.38-1~deb12u1', '"v245.4-1.fc32"', 'v230', 'x'].map(systemdVersionOf)).toEqual([
    252, 245, 230, -1,
  ]);
});
