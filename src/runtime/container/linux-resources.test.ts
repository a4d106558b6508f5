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
    ['nothing asked', podOf({}), {}, { cpuShares: 2n, cpuQuota: 0n, cpuPeriod: 100_000n }],
    [
      'a limit is the request as well',
      podOf({ limits: { cpu: '2' } }),
      {},
      { cpuShares: 2048n, cpuQuota: 200_000n },
    ],
    [
      'a request of zero is one',
      podOf({ requests: { cpu: '0' }, limits: { cpu: '2' } }),
      {},
      { cpuShares: 2n, cpuQuota: 200_000n },
    ],
    [
      'memory, and no swap beyond it',
      podOf({ limits: { memory: '64Mi' } }),
      {},
      { memoryLimitInBytes: 67_108_864n, memorySwapLimitInBytes: 67_108_864n },
    ],
    [
      "the pod's limits where the container has none",
      podOf({ limits: { cpu: '0' } }, { resources: { limits: { cpu: '3', memory: '1Mi' } } }),
      {},
      { cpuQuota: 300_000n, memoryLimitInBytes: 1_048_576n },
    ],
    [
      "the container's own before the pod's",
      podOf({ limits: { cpu: '1' } }, { resources: { limits: { cpu: '3' } } }),
      {},
      { cpuQuota: 100_000n },
    ],
    [
      'another period',
      podOf({ limits: { cpu: '1' } }),
      { cpuCfsQuotaPeriodUs: 5_000 },
      { cpuQuota: 5_000n, cpuPeriod: 5_000n },
    ],
    ['processes end together', podOf({}), { groupOomKill: true }, { unified: { 'memory.oom.group': '1' } }],
    [
      'every page size is limited',
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
      "page sizes of the pod, the container's own first",
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

  test('without quota there is none, and no period', () => {
    const got = first(podOf({ limits: { cpu: '1' } }), { cpuCfsQuota: false });
    expect([got.cpuQuota, got.cpuPeriod, got.cpuShares]).toEqual([undefined, undefined, 1024n]);
  });
  test('a page size that the kernel does not know is not sent', () => {
    const got = first(podOf({ limits: { 'hugepages-1Gi': '1Gi' } }), { hugePageSizes: ['2MB'] });
    expect(got.hugepageLimits).toEqual([{ pageSize: '2MB', limit: 0n }]);
  });
});

describe('oomScoreAdj', () => {
  const guaranteed = { limits: { cpu: '1', memory: '10' }, requests: { cpu: '1', memory: '10' } };
  const cases: readonly (readonly [string, Pod, bigint])[] = [
    ['best effort', podOf({}), 1000n],
    ['guaranteed', podOf(guaranteed), -997n],
    [
      'critical for the node, whatever its class',
      podOf({}, { priority: 2_000_001_000, priorityClassName: 'system-node-critical' }),
      -997n,
    ],
    [
      'a static pod that says so',
      podOf(
        {},
        {
          annotations: { 'kubernetes.io/config.source': 'file' },
          priorityClassName: 'system-node-critical',
        },
      ),
      -997n,
    ],
    ['critical for the cluster only', podOf({}, { priority: 2_000_000_000 }), 1000n],
    ['burstable without memory', podOf({ requests: { cpu: '1' } }), 999n],
    ['burstable, a tenth', podOf({ requests: { memory: '100' } }), 900n],
    ['burstable, nearly everything', podOf({ requests: { memory: '999' } }), 3n],
    ['burstable, everything', podOf({ requests: { memory: '1000' } }), 3n],
    ['burstable, more than there is', podOf({ requests: { memory: '5000' } }), 3n],
    [
      'what the pod requests beyond its containers counts in equal parts',
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

describe('of the sandbox', () => {
  test('sums of the containers, without overhead', () => {
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
  test('no overhead is nothing at all', () => expect(overheadResources(aPod(), settings)).toEqual({}));
});

test('a sidecar is not killed before the containers it serves', () => {
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
    ['none beyond the limit', burstable, {}, 200n, undefined],
    ['nothing to say without a limit', podOf({ requests: { memory: '100' } }), {}, undefined, undefined],
    [
      'nothing to say where the kernel cannot',
      burstable,
      { ...v2, swap: { ...settings.swap, controller: false } },
      undefined,
      undefined,
    ],
    ['none, in the one hierarchy', burstable, v2, undefined, none],
    ['a share of it', burstable, limited, undefined, { 'memory.swap.max': '50' }],
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
      'none for more than there is',
      podOf({ requests: { memory: '1001' }, limits: { memory: '2000' } }),
      limited,
      undefined,
      none,
    ],
  ];
  for (const [name, pod, over, limit, unified] of cases) {
    test(name, () => {
      const got = first(pod, over);
      expect([got.memorySwapLimitInBytes, got.unified]).toEqual([limit, unified]);
    });
  }
});

describe('memory quality of service', () => {
  const on = {
    cgroupVersion: 2,
    swap: { ...settings.swap, controller: false },
    memoryQos: { throttlingFactor: 0.9, pageBytes: 10n },
  } as const;
  const cases: readonly (readonly [string, Pod, Partial<ResourceSettings>, unknown])[] = [
    [
      'protected, and slowed down before the limit',
      podOf({ requests: { memory: '100' }, limits: { memory: '205' } }),
      on,
      { 'memory.min': '100', 'memory.high': '190' },
    ],
    [
      'without a limit before what the node has',
      podOf({ requests: { memory: '100' } }),
      on,
      { 'memory.min': '100', 'memory.high': '820' },
    ],
    [
      'the request is the limit',
      podOf({ requests: { memory: '100' }, limits: { memory: '100' } }),
      on,
      { 'memory.min': '100' },
    ],
    ['nothing asked', podOf({}), { ...on, allocatableBytes: () => 0n }, undefined],
    [
      'two hierarchies cannot',
      podOf({ requests: { memory: '100' } }),
      { ...on, cgroupVersion: 1 },
      undefined,
    ],
    [
      'together with what else is told',
      podOf({ requests: { memory: '100' }, limits: { memory: '100' } }),
      { ...on, groupOomKill: true, swap: settings.swap },
      { 'memory.oom.group': '1', 'memory.swap.max': '0', 'memory.min': '100' },
    ],
  ];
  for (const [name, pod, over, want] of cases)
    test(name, () => expect(first(pod, over).unified).toEqual(want));
});
