// The pod-level resources in a pod's status, from its allocation and from its cgroup on v1 and v2.
import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../test/builders/builders.ts';
import type { Pod, PodStatus, ResourceRequirements } from '../api/k8s/types.ts';
import { milliCpuToShares, sharesToWeight, weightToShares } from '../api/quantity/cpu-shares.ts';
import { type CgroupReading, podResourceFields } from './pod-resources.ts';
import { defaultStatusGates } from './status-gates.ts';

const mi = 1024n * 1024n;
const own = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };
const podLevel = aPod({ resources: own, containers: [aContainer()] });
const container = aPod({ containers: [aContainer({ resources: own })] });
const bare = aPod({ containers: [aContainer()] });
const half = aPod({ containers: [aContainer({ resources: own }), aContainer({ name: 'd' })] });
const tiny = aPod({
  resources: { requests: { cpu: '1m' }, limits: { cpu: '5m' } },
  containers: [aContainer()],
});
const reading = (over: CgroupReading = {}): CgroupReading => ({
  cpuShares: 102n,
  cpuQuotaUs: 20_000n,
  cpuPeriodUs: 100_000n,
  memoryLimitBytes: 128n * mi,
  ...over,
});
const v2 = (milli: bigint): bigint => weightToShares(sharesToWeight(milliCpuToShares(milli)));
const unlimited = reading({ cpuShares: 2n, cpuQuotaUs: -1n, memoryLimitBytes: 9_223_372_036_854_771_712n });

const cases: readonly (readonly [
  name: string,
  pod: Pod,
  old: PodStatus,
  reading: CgroupReading | undefined,
  want: ResourceRequirements,
])[] = [
  ['not running yet: as allocated', podLevel, { phase: 'Pending' }, reading({ cpuShares: 4n }), own],
  ['not running yet: as allocated to its containers', container, {}, undefined, own],
  ['terminated: as allocated', container, { phase: 'Failed' }, undefined, own],
  ['running: as the cgroup has it', podLevel, { phase: 'Running' }, reading(), own],
  [
    'running: another value in the cgroup is reported',
    podLevel,
    { phase: 'Running' },
    reading({ cpuShares: 153n, cpuQuotaUs: 30_000n, memoryLimitBytes: 192n * mi }),
    { requests: { cpu: '150m', memory: '64Mi' }, limits: { cpu: '300m', memory: '192Mi' } },
  ],
  [
    'running, not read yet: as reported before',
    podLevel,
    { phase: 'Running', resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '7m' } } },
    undefined,
    { requests: { cpu: '7m', memory: '64Mi' }, limits: { cpu: '1', memory: '1Gi' } },
  ],
  ['running: requests and limits of containers', container, { phase: 'Running' }, reading(), own],
  ['running: no resources', bare, { phase: 'Running' }, unlimited, {}],
  [
    'running: no resources on cgroup v2',
    bare,
    { phase: 'Running' },
    { ...unlimited, memoryLimitBytes: -1n },
    {},
  ],
  [
    'running: a container without limits leaves the pod without limits, and what was reported before stays',
    half,
    { phase: 'Running', resources: own },
    { ...unlimited, cpuShares: 102n },
    own,
  ],
  [
    'cgroup v2: the weight of the allocated request',
    podLevel,
    { phase: 'Running' },
    reading({ cpuShares: v2(100n) }),
    own,
  ],
  [
    "cgroup v2: the weight of the containers' request",
    container,
    { phase: 'Running' },
    reading({ cpuShares: v2(100n) }),
    own,
  ],
  [
    'cgroup v2: another weight',
    podLevel,
    { phase: 'Running' },
    reading({ cpuShares: v2(500n) }),
    { ...own, requests: { cpu: '489m', memory: '64Mi' } },
  ],
  [
    "below the kernel's minimum: as allocated",
    tiny,
    { phase: 'Running' },
    reading({ cpuShares: 2n, cpuQuotaUs: 1_000n, memoryLimitBytes: -1n }),
    { requests: { cpu: '1m' }, limits: { cpu: '5m' } },
  ],
];
for (const [name, pod, old, read, want] of cases)
  test(`podResourceFields: ${name}`, () =>
    expect(podResourceFields(pod, old, read, defaultStatusGates).resources).toEqual(want));

test('reports the allocated requests with overhead, and none without requests', () => {
  const fields = (pod: Pod) => podResourceFields(pod, {}, undefined, defaultStatusGates);
  expect(fields(podLevel).allocatedResources).toEqual({ cpu: '100m', memory: '64Mi' });
  expect(fields(bare)).toEqual({ resources: {} });
  const heavy = aPod({ resources: own, overhead: { cpu: '50m' }, containers: [aContainer()] });
  expect(fields(heavy).allocatedResources).toEqual({ cpu: '150m', memory: '64Mi' });
});

test('reports nothing without the gate', () => {
  const gates = { ...defaultStatusGates, InPlacePodLevelResourcesVerticalScaling: false };
  expect(podResourceFields(podLevel, {}, reading(), gates)).toEqual({});
});
