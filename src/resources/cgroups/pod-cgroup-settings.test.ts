// The values are from upstream's TestResourceConfigForPod or, where it has no case, computed by upstream's code.
import { expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import type { Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import { type PodCgroupPolicy, podCgroupSettings } from './pod-cgroup-settings.ts';

const policy: PodCgroupPolicy = {
  enforceCpuLimits: true,
  cpuPeriodUs: 100_000n,
  pidsLimit: 0n,
  reservesMemory: false,
  podLevelResources: true,
};
const podOf = (resources: readonly ResourceRequirements[], over: PodOver = {}): Pod =>
  aPod({
    containers: resources.map((each, index) => aContainer({ name: `c${index}`, resources: each })),
    ...over,
  });
const small = { cpu: '100m', memory: '100Mi' };
const large = { cpu: '200m', memory: '200Mi' };
const mebi = 1024n * 1024n;
const none = { hugePageLimits: {} };

const cases = [
  ['BestEffort', podOf([{}]), {}, { cpuShares: 2n, ...none }],
  ['Burstable without limits', podOf([{ requests: small }]), {}, { cpuShares: 102n, ...none }],
  [
    'Burstable with limits',
    podOf([{ requests: small, limits: large }]),
    {},
    { cpuShares: 102n, cpuQuotaUs: 20_000n, cpuPeriodUs: 100_000n, memoryLimitBytes: 200n * mebi, ...none },
  ],
  [
    'Burstable with limits, quota disabled',
    podOf([{ requests: small, limits: large }]),
    { enforceCpuLimits: false },
    { cpuShares: 102n, cpuQuotaUs: -1n, cpuPeriodUs: 100_000n, memoryLimitBytes: 200n * mebi, ...none },
  ],
  [
    'Burstable with limits on one of two containers: no limit for the pod',
    podOf([{ requests: small, limits: large }, { requests: small }]),
    {},
    { cpuShares: 204n, ...none },
  ],
  [
    'Burstable with memory limits on all containers',
    podOf([{ requests: small, limits: { memory: '1Mi' } }, { limits: large }]),
    {},
    { cpuShares: 102n, memoryLimitBytes: 201n * mebi, ...none },
  ],
  [
    'Guaranteed',
    podOf([{ requests: small, limits: small }]),
    {},
    { cpuShares: 102n, cpuQuotaUs: 10_000n, cpuPeriodUs: 100_000n, memoryLimitBytes: 100n * mebi, ...none },
  ],
  [
    'Guaranteed with a shorter period',
    podOf([{ requests: small, limits: small }]),
    { cpuPeriodUs: 20_000n },
    { cpuShares: 102n, cpuQuotaUs: 2_000n, cpuPeriodUs: 20_000n, memoryLimitBytes: 100n * mebi, ...none },
  ],
  [
    'overhead is added to requests and limits',
    podOf([{ requests: small, limits: large }], { overhead: { cpu: '100m', memory: '10Mi' } }),
    {},
    { cpuShares: 204n, cpuQuotaUs: 30_000n, cpuPeriodUs: 100_000n, memoryLimitBytes: 210n * mebi, ...none },
  ],
  [
    'pod-level limits',
    podOf([{}, {}], { resources: { requests: small, limits: large } }),
    {},
    { cpuShares: 102n, cpuQuotaUs: 20_000n, cpuPeriodUs: 100_000n, memoryLimitBytes: 200n * mebi, ...none },
  ],
  [
    'huge pages by page size',
    podOf([{ requests: { 'hugepages-2Mi': '4Mi', memory: '1Mi' }, limits: { 'hugepages-2Mi': '4Mi' } }]),
    {},
    { cpuShares: 2n, hugePageLimits: { '2MB': 4n * mebi } },
  ],
  ['a limit on processes', podOf([{}]), { pidsLimit: 77n }, { cpuShares: 2n, pidsLimit: 77n, ...none }],
  [
    'memory.low of a Burstable pod with TieredReservation',
    podOf([{ requests: small }]),
    { reservesMemory: true },
    { cpuShares: 102n, unified: { 'memory.low': `${100n * mebi}` }, ...none },
  ],
  [
    'memory.high of a pod with a pod-level limit',
    podOf([{}], { resources: { requests: { memory: '100Mi' }, limits: { memory: '200Mi' } } }),
    { throttlingFactor: 0.5 },
    {
      cpuShares: 2n,
      memoryLimitBytes: 200n * mebi,
      unified: { 'memory.high': `${150n * mebi}` },
      ...none,
    },
  ],
  [
    'no memory.high if the pod-level request equals the limit',
    podOf([{}], { resources: { requests: { memory: '200Mi' }, limits: { memory: '200Mi' } } }),
    { throttlingFactor: 0.5 },
    { cpuShares: 2n, memoryLimitBytes: 200n * mebi, ...none },
  ],
  [
    'no memory.high of a pod whose memory is not limited as a whole',
    podOf([{ requests: small }], { resources: { requests: small } }),
    { throttlingFactor: 0.5 },
    { cpuShares: 102n, ...none },
  ],
  [
    'no memory.high without pod-level resources',
    podOf([{ requests: small, limits: { memory: '200Mi' } }]),
    { throttlingFactor: 0.5 },
    { cpuShares: 102n, memoryLimitBytes: 200n * mebi, ...none },
  ],
] as const;

for (const [name, pod, over, want] of cases)
  test(`podCgroupSettings: ${name}`, () =>
    expect(podCgroupSettings(pod, { ...policy, ...over })).toEqual(want));
