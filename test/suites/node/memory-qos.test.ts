// Memory settings in CRI requests on cgroup v2. Upstream: generateLinuxContainerResources in
// pkg/kubelet/kuberuntime/kuberuntime_container_linux.go.
import { expect, onTestFinished, test } from 'vitest';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

type Options = NonNullable<ConstructorParameters<typeof FakeNode>[0]>;

async function unifiedOf(
  resources: Record<string, Record<string, string>>,
  options: Options = {},
): Promise<Record<string, string> | undefined> {
  const node = new FakeNode({ machine: { cgroupVersion: 2 }, gates: { MemoryQoS: false }, ...options });
  onTestFinished(() => node.stop());
  await node.start();
  node.write('p.yaml', aPod({ containers: [aContainer({ resources })] }));
  await node.clock.advance(50);
  const create = node.cri.calls.find(({ method }) => method === 'CreateContainer')?.request;
  return (create as { config?: { linux?: { resources?: { unified?: Record<string, string> } } } })?.config
    ?.linux?.resources?.unified;
}

const request = { requests: { memory: '32Mi' } };

test('a container is OOM-killed as a group and has no swap', async () => {
  expect(await unifiedOf(request)).toMatchObject({ 'memory.oom.group': '1', 'memory.swap.max': '0' });
});

test('singleProcessOOMKill lets the kernel kill a single process', async () => {
  expect(await unifiedOf(request, { config: { singleProcessOOMKill: true } })).toEqual({
    'memory.high': 'max',
    'memory.swap.max': '0',
  });
});

test('without MemoryQoS a throttling of an earlier configuration is lifted, and nothing is sent on cgroup v1', async () => {
  expect(await unifiedOf(request)).toMatchObject({ 'memory.high': 'max' });
  expect(await unifiedOf(request, { machine: { cgroupVersion: 1 } })).toEqual({});
  expect(await unifiedOf(request, { machine: { cgroupVersion: 1 }, gates: { MemoryQoS: true } })).toEqual({});
});

test('MemoryQoS throttles a container without a limit near the allocatable memory', async () => {
  const options: Options = {
    gates: { MemoryQoS: true },
    config: {
      evictionHard: { 'memory.available': '1Gi' },
      kubeReserved: { memory: '1000M' },
      memoryThrottlingFactor: 0.8,
    },
  };
  const [node, mine] = [7_000_000_000, 32 * 1024 ** 2];
  const high = Math.floor((mine + (node - mine) * 0.8) / 4096) * 4096;
  expect(await unifiedOf(request, options)).toEqual({
    'memory.min': '0',
    'memory.low': '0',
    'memory.high': `${high}`,
    'memory.oom.group': '1',
    'memory.swap.max': '0',
  });
});

test('MemoryQoS with TieredReservation protects the requested memory, and throttles nothing by itself', async () => {
  const options: Options = {
    gates: { MemoryQoS: true },
    config: { memoryReservationPolicy: 'TieredReservation' },
  };
  expect(await unifiedOf(request, options)).toMatchObject({ 'memory.low': `${32 * 1024 ** 2}` });
  expect(await unifiedOf(request, options)).not.toHaveProperty('memory.high');
});

test('a pod with pod-level limits is throttled as a whole, its containers are not', async () => {
  const node = new FakeNode({
    machine: { cgroupVersion: 2 },
    gates: { MemoryQoS: true },
    config: { memoryThrottlingFactor: 0.5 },
  });
  onTestFinished(() => node.stop());
  await node.start();
  const resources = { requests: { memory: '100Mi' }, limits: { memory: '200Mi' } };
  node.write('p.yaml', aPod({ containers: [aContainer()], resources }));
  await node.clock.advance(50);
  const path = [...node.cgroups.groups.keys()].find((each) => each.endsWith('poduid-p'));
  expect(node.cgroups.settings(path ?? '')?.unified).toEqual({ 'memory.high': `${150 * 1024 ** 2}` });
  const create = node.cri.calls.find(({ method }) => method === 'CreateContainer')?.request;
  expect(
    JSON.stringify(create, (_, each: unknown) => (typeof each === 'bigint' ? `${each}` : each)),
  ).not.toContain('memory.high');
});
