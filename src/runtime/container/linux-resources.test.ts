import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import {
  containerResources,
  oomScoreAdj,
  overheadResources,
  type ResourceSettings,
  sandboxResources,
} from './linux-resources.ts';

const settings: ResourceSettings = {
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000,
  memoryCapacityBytes: 1000n,
  hugePageSizes: ['2MB', '1GB'],
  cgroupVersion: 1,
  swap: { behavior: 'NoSwap', controller: true, capacityBytes: 500n },
  allocatableBytes: () => 900n,
};

const podOf = (resources: ResourceRequirements, over: object = {}): Pod =>
  aPod({ containers: [aContainer({ resources })], ...over });
const first = (pod: Pod, over: Partial<ResourceSettings> = {}): ReturnType<typeof containerResources> =>
  containerResources(pod, pod.spec?.containers[0] ?? aContainer(), { ...settings, ...over });

describe('containerResources', () => {
  const cases: readonly (readonly [string, Pod, Partial<ResourceSettings>, object])[] = [
    ['nothing requested', podOf({}), {}, { cpuShares: 2n, cpuQuota: 0n, cpuPeriod: 100_000n }],
    [
      'a limit without a request',
      podOf({ limits: { cpu: '2' } }),
      {},
      { cpuShares: 2048n, cpuQuota: 200_000n },
    ],
    [
      'a request of zero',
      podOf({ requests: { cpu: '0' }, limits: { cpu: '2' } }),
      {},
      { cpuShares: 2n, cpuQuota: 200_000n },
    ],
    [
      'a memory limit without swap',
      podOf({ limits: { memory: '64Mi' } }),
      {},
      { memoryLimitInBytes: 67_108_864n, memorySwapLimitInBytes: 67_108_864n },
    ],
    [
      "the pod's limits if the container has none",
      podOf({ limits: { cpu: '0' } }, { resources: { limits: { cpu: '3', memory: '1Mi' } } }),
      {},
      { cpuQuota: 300_000n, memoryLimitInBytes: 1_048_576n },
    ],
    [
      "the container's limits before the pod's",
      podOf({ limits: { cpu: '1' } }, { resources: { limits: { cpu: '3' } } }),
      {},
      { cpuQuota: 100_000n },
    ],
    [
      'another CFS period',
      podOf({ limits: { cpu: '1' } }),
      { cpuCfsQuotaPeriodUs: 5_000 },
      { cpuQuota: 5_000n, cpuPeriod: 5_000n },
    ],
    ['group OOM kill', podOf({}), { groupOomKill: true }, { unified: { 'memory.oom.group': '1' } }],
    [
      'a limit for every huge page size',
      podOf({ limits: { 'hugepages-2Mi': '4Mi' } }),
      {},
      {
        hugepageLimits: [
          { pageSize: '2MB', limit: 4_194_304n },
          { pageSize: '1GB', limit: 0n },
        ],
      },
    ],
    [
      "huge page limits of the container before the pod's",
      podOf(
        { limits: { 'hugepages-2Mi': '2Mi' } },
        { resources: { limits: { 'hugepages-2Mi': '8Mi', 'hugepages-1Gi': '1Gi' } } },
      ),
      {},
      {
        hugepageLimits: [
          { pageSize: '2MB', limit: 2_097_152n },
          { pageSize: '1GB', limit: 1_073_741_824n },
        ],
      },
    ],
  ];
  for (const [name, pod, over, want] of cases) test(name, () => expect(first(pod, over)).toMatchObject(want));

  test('no quota and no period without CFS quota', () => {
    const got = first(podOf({ limits: { cpu: '1' } }), { cpuCfsQuota: false });
    expect([got.cpuQuota, got.cpuPeriod, got.cpuShares]).toEqual([undefined, undefined, 1024n]);
  });
  test('omits a huge page size that the kernel does not have', () => {
    const got = first(podOf({ limits: { 'hugepages-1Gi': '1Gi' } }), { hugePageSizes: ['2MB'] });
    expect(got.hugepageLimits).toEqual([{ pageSize: '2MB', limit: 0n }]);
  });
});

describe('oomScoreAdj', () => {
  const guaranteed = { limits: { cpu: '1', memory: '10' }, requests: { cpu: '1', memory: '10' } };
  const cases: readonly (readonly [string, Pod, bigint])[] = [
    ['BestEffort', podOf({}), 1000n],
    ['Guaranteed', podOf(guaranteed), -997n],
    [
      'system-node-critical, whatever its QoS class',
      podOf({}, { priority: 2_000_001_000, priorityClassName: 'system-node-critical' }),
      -997n,
    ],
    [
      'a system-node-critical static pod',
      podOf(
        {},
        {
          annotations: { 'kubernetes.io/config.source': 'file' },
          priorityClassName: 'system-node-critical',
        },
      ),
      -997n,
    ],
    ['system-cluster-critical', podOf({}, { priority: 2_000_000_000 }), 1000n],
    ['Burstable without a memory request', podOf({ requests: { cpu: '1' } }), 999n],
    ['Burstable, a tenth of the memory', podOf({ requests: { memory: '100' } }), 900n],
    ['Burstable, nearly all memory', podOf({ requests: { memory: '999' } }), 3n],
    ['Burstable, all memory', podOf({ requests: { memory: '1000' } }), 3n],
    ['Burstable, more than the memory', podOf({ requests: { memory: '5000' } }), 3n],
    [
      'the pod-level request is divided equally among its containers',
      aPod({
        resources: { requests: { memory: '500' } },
        containers: [aContainer({ resources: { requests: { memory: '100' } } }), aContainer({ name: 'd' })],
      }),
      700n,
    ],
  ];
  for (const [name, pod, want] of cases) {
    test(`${name} → ${want}`, () => {
      const container = pod.spec?.containers[0] ?? aContainer();
      expect(oomScoreAdj(pod, container, 1000n)).toBe(want);
    });
  }
});

describe('sandbox resources', () => {
  test('sums the containers, without overhead', () => {
    const resources = { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '1Mi' } };
    const pod = aPod({
      overhead: { cpu: '1', memory: '8Mi' },
      containers: [aContainer({ resources }), aContainer({ name: 'd', resources })],
    });
    expect(sandboxResources(pod, settings)).toEqual({
      cpuShares: 204n,
      cpuQuota: 40_000n,
      cpuPeriod: 100_000n,
      memoryLimitInBytes: 2_097_152n,
    });
    expect(overheadResources(pod, settings)).toEqual({
      cpuShares: 1024n,
      cpuQuota: 100_000n,
      cpuPeriod: 100_000n,
      memoryLimitInBytes: 8_388_608n,
    });
  });
  test('no quota with exclusive CPUs', () => {
    const limits = { cpu: '2', memory: '1Mi' };
    const pod = podOf({ requests: limits, limits });
    const own = { hasExclusiveCpus: (_uid: string, container?: string) => container !== 'shared' };
    expect(sandboxResources(pod, { ...settings, ...own })).toMatchObject({
      cpuShares: 2048n,
      cpuQuota: -1n,
      cpuPeriod: 100_000n,
    });
    expect(first(pod, own)).toMatchObject({ cpuShares: 2048n, cpuQuota: -1n, cpuPeriod: 100_000n });
    const shared = aPod({
      containers: [aContainer({ name: 'shared', resources: { requests: limits, limits } })],
    });
    expect(first(shared, own)).toMatchObject({ cpuQuota: 200_000n });
    expect(first(pod, { ...own, cpuCfsQuota: false })).not.toHaveProperty('cpuQuota');
  });
  test('empty without overhead', () => expect(overheadResources(aPod(), settings)).toEqual({}));
});

test('a sidecar is not OOM-killed before the regular containers', () => {
  const sidecar = aContainer({
    name: 's',
    restartPolicy: 'Always',
    resources: { requests: { memory: '10' } },
  });
  const pod = aPod({
    initContainers: [sidecar],
    containers: [
      aContainer({ resources: { requests: { memory: '300' } } }),
      aContainer({ name: 'd', resources: { requests: { memory: '200' } } }),
    ],
  });
  expect(oomScoreAdj(pod, sidecar, 1000n)).toBe(800n);
});

describe('swap', () => {
  const burstable = podOf({ requests: { memory: '100' }, limits: { memory: '200' } });
  const v2 = { cgroupVersion: 2 } as const;
  const limited = {
    ...v2,
    swap: { behavior: 'LimitedSwap', controller: true, capacityBytes: 500n },
  } as const;
  const none = { 'memory.swap.max': '0' };
  const cases: readonly (readonly [string, Pod, Partial<ResourceSettings>, unknown, unknown])[] = [
    ['cgroup v1: none beyond the memory limit', burstable, {}, 200n, undefined],
    [
      'cgroup v1: not set without a memory limit',
      podOf({ requests: { memory: '100' } }),
      {},
      undefined,
      undefined,
    ],
    [
      'not set without a swap controller',
      burstable,
      { ...v2, swap: { ...settings.swap, controller: false } },
      undefined,
      undefined,
    ],
    ['cgroup v2: NoSwap', burstable, v2, undefined, none],
    [
      'LimitedSwap: in proportion to the memory request',
      burstable,
      limited,
      undefined,
      { 'memory.swap.max': '50' },
    ],
    ['none for Guaranteed', podOf({ limits: { cpu: '1', memory: '9' } }), limited, undefined, none],
    ['none for BestEffort', podOf({}), limited, undefined, none],
    [
      'none for static pods',
      { ...burstable, metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } },
      limited,
      undefined,
      none,
    ],
    [
      'none for a request above the memory',
      podOf({ requests: { memory: '1001' }, limits: { memory: '2000' } }),
      limited,
      undefined,
      none,
    ],
  ];
  for (const [name, pod, over, limit, unified] of cases) {
    test(name, () => {
      const got = first(pod, over);
      const swap = (all: unknown): unknown =>
        (all as Record<string, string> | undefined)?.['memory.swap.max'];
      expect([got.memorySwapLimitInBytes, swap(got.unified)]).toEqual([limit, swap(unified)]);
    });
  }
});

describe('memory QoS', () => {
  const on = {
    cgroupVersion: 2,
    swap: { ...settings.swap, controller: false },
    memoryQos: { throttlingFactor: 0.9, reservesMemory: true, pageBytes: 10n },
  } as const;
  const cases: readonly (readonly [string, Pod, Partial<ResourceSettings>, unknown])[] = [
    [
      'memory.low of a Burstable pod, and memory.high below the limit',
      podOf({ requests: { memory: '100' }, limits: { memory: '205' } }),
      on,
      { 'memory.low': '100', 'memory.high': '190' },
    ],
    [
      'memory.high below allocatable without a limit',
      podOf({ requests: { memory: '100' } }),
      on,
      { 'memory.low': '100', 'memory.high': '820' },
    ],
    [
      'no memory.high if request and limit are equal',
      podOf({ requests: { memory: '100' }, limits: { memory: '100' } }),
      on,
      { 'memory.low': '100' },
    ],
    [
      'zeros if nothing is requested',
      podOf({}),
      { ...on, allocatableBytes: () => 0n },
      { 'memory.min': '0', 'memory.low': '0' },
    ],
    [
      'memory.high of a BestEffort pod',
      podOf({}),
      on,
      { 'memory.min': '0', 'memory.low': '0', 'memory.high': '810' },
    ],
    [
      'only zeros with the default settings',
      podOf({ requests: { memory: '100' } }),
      { ...on, memoryQos: { throttlingFactor: undefined, reservesMemory: false, pageBytes: 10n } },
      { 'memory.min': '0', 'memory.low': '0' },
    ],
    [
      'memory.min of a Guaranteed pod',
      podOf({ requests: { cpu: '1', memory: '100' }, limits: { cpu: '1', memory: '100' } }),
      on,
      { 'memory.min': '100' },
    ],
    [
      'no memory.high of a container that only the pod limits',
      podOf({ requests: { memory: '100' } }, { resources: { limits: { memory: '500' } } }),
      on,
      { 'memory.low': '100' },
    ],
    [
      'memory.high of a container with its own limit in a limited pod',
      podOf({ limits: { memory: '200' } }, { resources: { limits: { memory: '500' } } }),
      on,
      { 'memory.min': '0', 'memory.low': '0', 'memory.high': '180' },
    ],
    ['lifted without the gate', podOf({}), { ...on, memoryQos: undefined }, { 'memory.high': 'max' }],
    ['not on cgroup v1', podOf({ requests: { memory: '100' } }), { ...on, cgroupVersion: 1 }, undefined],
    [
      'merged with other unified settings',
      podOf({ requests: { memory: '100' }, limits: { memory: '100' } }),
      { ...on, groupOomKill: true, swap: settings.swap },
      { 'memory.oom.group': '1', 'memory.swap.max': '0', 'memory.low': '100' },
    ],
  ];
  for (const [name, pod, over, want] of cases)
    test(name, () => expect(first(pod, over).unified).toEqual(want));
});
