import { describe, expect, test } from 'vitest';
import type { Pod, ResourceRequirements } from '../api/k8s.ts';
import { aContainer, aPod } from '../testing/builders.ts';
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
    ['critical for the node, whatever its class', podOf({}, { priority: 2_000_001_000 }), -997n],
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
