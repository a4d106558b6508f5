import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { type QosPolicy, qosCgroupSettings } from './qos-cgroup-settings.ts';

const policy: QosPolicy = {
  podLevelResources: true,
  memoryQos: false,
  reservesMemory: false,
  resetsMemory: false,
  memoryReservePercent: undefined,
  allocatableMemoryBytes: 1000n,
  hugePageSizes: ['2MB'],
};
const burstable = (cpu: string, memory: string): Pod =>
  aPod({ containers: [aContainer({ resources: { requests: { cpu, memory } } })] });
const guaranteed = (cpu: string, memory: string): Pod =>
  aPod({
    containers: [aContainer({ resources: { requests: { cpu, memory }, limits: { cpu, memory } } })],
  });
const huge = { hugePageLimits: { '2MB': 4_611_686_018_427_387_904n } };
const pods = [burstable('100m', '100'), burstable('400m', '200'), guaranteed('1', '300'), aPod()];

const cases = [
  [
    'no pods: minimum shares',
    [],
    {},
    { guaranteed: huge, burstable: { cpuShares: 2n, ...huge }, bestEffort: { cpuShares: 2n, ...huge } },
  ],
  [
    'Burstable shares are the sum of the requests',
    pods,
    {},
    { guaranteed: huge, burstable: { cpuShares: 512n, ...huge }, bestEffort: { cpuShares: 2n, ...huge } },
  ],
  [
    'memory.min and memory.low with TieredReservation',
    pods,
    { reservesMemory: true, resetsMemory: true },
    {
      guaranteed: { ...huge, unified: { 'memory.min': '600', 'memory.low': '300' } },
      burstable: { cpuShares: 512n, ...huge, unified: { 'memory.low': '300' } },
      bestEffort: { cpuShares: 2n, ...huge },
    },
  ],
  [
    'zeros on cgroup v2 without a reservation',
    pods,
    { resetsMemory: true },
    {
      guaranteed: { ...huge, unified: { 'memory.min': '0', 'memory.low': '0' } },
      burstable: { cpuShares: 512n, ...huge, unified: { 'memory.low': '0' } },
      bestEffort: { cpuShares: 2n, ...huge },
    },
  ],
  [
    'qosReserved 50%: half of the requests of higher classes is reserved',
    pods,
    { memoryReservePercent: 50n },
    {
      guaranteed: huge,
      burstable: { cpuShares: 512n, ...huge, memoryLimitBytes: 850n },
      bestEffort: { cpuShares: 2n, ...huge, memoryLimitBytes: 700n },
    },
  ],
  [
    'nothing is reserved while the allocatable memory is unknown',
    pods,
    { memoryReservePercent: 50n, allocatableMemoryBytes: 0n },
    { guaranteed: huge, burstable: { cpuShares: 512n, ...huge }, bestEffort: { cpuShares: 2n, ...huge } },
  ],
] as const;

for (const [name, active, over, want] of cases)
  test(`qosCgroupSettings: ${name}`, () =>
    expect(qosCgroupSettings(active, { ...policy, ...over })).toEqual({
      protectedBytes: expect.anything(),
      ...want,
    }));

test('the protected memory is that of the pods with TieredReservation, and nothing otherwise', () => {
  const bytes = (reservesMemory: boolean) =>
    qosCgroupSettings(pods, { ...policy, reservesMemory }).protectedBytes;
  expect([bytes(true), bytes(false)]).toEqual([
    { guaranteed: 300n, burstable: 300n },
    { guaranteed: 0n, burstable: 0n },
  ]);
});
