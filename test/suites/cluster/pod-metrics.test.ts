// Metrics about pods on a whole kubelet: what the components report reaches /metrics.
import { expect, onTestFinished, test } from 'vitest';
import { bodyText, httpRequest } from '../../../src/server/fixtures/requests.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { rpcError } from '../../fake-cri/rpc-error.ts';
import { ClusterWorld } from '../../simulate/cluster-world.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

async function samples(node: FakeNode, prefix: string): Promise<readonly string[]> {
  const page = await bodyText(await node.request(httpRequest('GET /metrics')));
  return page.split('\n').filter((line) => line.startsWith(prefix) && !line.includes('le="'));
}

const cpu = (amount: string) => ({ resources: { requests: { cpu: amount } } });

test('a resize that was deferred counts with its resolution, and pending ones by priority', async () => {
  const world = new ClusterWorld({});
  onTestFinished(() => world.close());
  await world.node.start();
  await world.advance(2_000);
  const resize = (name: string, amount: string): void =>
    void world.api.objects.patch(
      'pods',
      'default',
      name,
      { spec: { containers: [aContainer(cpu(amount))] } },
      'resize',
    );
  for (const name of ['back', 'gone']) world.run(name, { containers: [aContainer(cpu('100m'))] });
  await world.advance(3_000);
  for (const name of ['back', 'gone']) resize(name, '30');
  await world.advance(3_000);
  expect(await samples(world.node, 'kubelet_pod_pending_resizes')).toEqual([
    'kubelet_pod_pending_resizes{reason="deferred",priority_bucket="normal"} 2',
  ]);
  resize('back', '100m');
  world.delete('gone', 1);
  await world.advance(10_000);
  const counts = await samples(world.node, 'kubelet_pod_deferred_resize_duration_seconds_count');
  expect(new Set(counts.map((line) => /resolution="(\w+)"/.exec(line)?.[1]))).toEqual(
    new Set(['reverted', 'terminated']),
  );
  expect(await samples(world.node, 'kubelet_pod_pending_resizes')).toEqual([]);
});

async function started(options: ConstructorParameters<typeof FakeNode>[0] = {}): Promise<FakeNode> {
  const node = new FakeNode(options);
  onTestFinished(() => node.stop());
  await node.start();
  return node;
}

test('admitted pods and terminated containers are counted', async () => {
  const node = await started();
  node.write('p.yaml', aPod({ containers: [aContainer(cpu('100m'))], restartPolicy: 'Never' }));
  await node.clock.advance(3_000);
  expect(await samples(node, 'kubelet_pod_level_resources_admission_total')).toEqual([
    'kubelet_pod_level_resources_admission_total{config_mode="container_level",qos_class="burstable"} 1',
  ]);
  expect(await samples(node, 'kubelet_terminated_containers_total')).toEqual([]);
  node.cri.exitContainer('c', 3);
  await node.clock.advance(3_000);
  expect(await samples(node, 'kubelet_terminated_containers_total')).toEqual([
    'kubelet_terminated_containers_total{container_type="container",exit_code="3",reason="Error"} 1',
  ]);
});

test('image volumes are counted by the outcome of their mount', async () => {
  const node = await started();
  const image = 'example.com/files:1';
  node.cri.addImage({ name: image });
  node.cri.faults.fail('createContainer', rpcError('UNKNOWN', 'ImageVolumeMountFailed: no layer'), {
    times: 1,
  });
  const mounts = { volumeMounts: [{ name: 'i', mountPath: '/img' }] };
  const volumes = [{ name: 'i', image: { reference: image, pullPolicy: 'IfNotPresent' } }];
  node.write('p.yaml', aPod({ containers: [aContainer(mounts)], volumes }));
  await node.clock.advance(60_000);
  expect(await samples(node, 'kubelet_image_volume_')).toEqual([
    'kubelet_image_volume_mounted_errors_total 1',
    'kubelet_image_volume_mounted_succeed_total 1',
    'kubelet_image_volume_requested_total 2',
  ]);
});

test('TieredReservation: the protected memory of the node', async () => {
  const node = await started({
    machine: { cgroupVersion: 2 },
    gates: { MemoryQoS: true },
    config: { memoryReservationPolicy: 'TieredReservation' },
  });
  node.write('p.yaml', aPod({ containers: [aContainer({ resources: { requests: { memory: '32Mi' } } })] }));
  await node.clock.advance(3_000);
  expect(await samples(node, 'kubelet_memory_qos_node_memory_low_bytes')).toEqual([
    `kubelet_memory_qos_node_memory_low_bytes ${32 * 1024 ** 2}`,
  ]);
});
