import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { type QosPolicy, qosCgroupSettings } from './qos-cgroup-settings.ts';

const policy: QosPolicy = {
  podLevelResources: true,
  memoryQos: false,
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
    'no pods: the least',
    [],
    {},
    { guaranteed: huge, burstable: { cpuShares: 2n, ...huge }, bestEffort: { cpuShares: 2n, ...huge } },
  ],
  [
    'what burstable pods ask for, together',
    pods,
    {},
    { guaranteed: huge, burstable: { cpuShares: 512n, ...huge }, bestEffort: { cpuShares: 2n, ...huge } },
  ],
  [
    'memory kept for the classes',
    pods,
    { memoryQos: true },
    {
      guaranteed: { ...huge, unified: { 'memory.min': '600' } },
      burstable: { cpuShares: 512n, ...huge, unified: { 'memory.min': '300' } },
      bestEffort: { cpuShares: 2n, ...huge },
    },
  ],
  [
    'nothing is kept any more when the last pod is gone',
    [aPod()],
    { memoryQos: true },
    {
      guaranteed: { ...huge, unified: { 'memory.min': '0' } },
      burstable: { cpuShares: 2n, ...huge, unified: { 'memory.min': '0' } },
      bestEffort: { cpuShares: 2n, ...huge },
    },
  ],
  [
    'half of what higher classes asked for is kept from lower ones',
    pods,
    { memoryReservePercent: 50n },
    {
      guaranteed: huge,
      burstable: { cpuShares: 512n, ...huge, memoryLimitBytes: 850n },
      bestEffort: { cpuShares: 2n, ...huge, memoryLimitBytes: 700n },
    },
  ],
  [
    'nothing is kept where the node does not know what it has',
    pods,
    { memoryReservePercent: 50n, allocatableMemoryBytes: 0n },
    { guaranteed: huge, burstable: { cpuShares: 512n, ...huge }, bestEffort: { cpuShares: 2n, ...huge } },
  ],
] as const;

for (const [name, given, over, want] of cases)
  test(name, () => expect(qosCgroupSettings(given, { ...policy, ...over })).toEqual(want));
