// What the runtime is told of memory on a whole node with cgroup v2. The amounts are those that a Go kubelet v1.34 told the
// same containerd of the same pods, the size of the node apart.
import { expect, onTestFinished, test } from 'vitest';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

type Options = NonNullable<ConstructorParameters<typeof FakeNode>[0]>;

async function unifiedOf(
  resources: Record<string, Record<string, string>>,
  options: Options = {},
): Promise<Record<string, string> | undefined> {
  const node = new FakeNode({ machine: { cgroupVersion: 2 }, ...options });
  onTestFinished(() => node.stop());
  await node.start();
  node.write('p.yaml', aPod({ containers: [aContainer({ resources })] }));
  await node.clock.advance(50);
  const create = node.cri.calls.find(({ method }) => method === 'CreateContainer')?.request;
  return (create as { config?: { linux?: { resources?: { unified?: Record<string, string> } } } })?.config
    ?.linux?.resources?.unified;
}

const request = { requests: { memory: '32Mi' } };

test('its processes end together, and it has no swap', async () => {
  expect(await unifiedOf(request)).toEqual({ 'memory.oom.group': '1', 'memory.swap.max': '0' });
});

test('singleProcessOOMKill: one process ends', async () => {
  expect(await unifiedOf(request, { config: { singleProcessOOMKill: true } })).toEqual({
    'memory.swap.max': '0',
  });
});

test('MemoryQoS: without a limit, it is slowed down near what pods may have together, eviction apart', async () => {
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
    'memory.min': `${mine}`,
    'memory.high': `${high}`,
    'memory.oom.group': '1',
    'memory.swap.max': '0',
  });
});
