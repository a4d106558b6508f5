// Manifests that are removed and written again, in memory. Upstream's mirror_pod_test.go expects a restart.
import { expect, test } from 'vitest';
import { bodyText, httpRequest } from '../../../src/server/fixtures/requests.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';
import { expectUnchanged, graceful, running, shown } from '../../simulate/mirror-pod-kit.ts';

function restartCount(world: ClusterWorld): number | undefined {
  return world.pod('web-n')?.status?.containerStatuses?.[0]?.restartCount;
}

async function restarts(world: ClusterWorld): Promise<readonly string[]> {
  const page = await bodyText(await world.node.request(httpRequest('GET /metrics')));
  return page.split('\n').filter((line) => line.startsWith('kubelet_restarted_pods_total'));
}

test('restarts by their manifest are counted, changes and removals are not', async () => {
  const world = await startCluster();
  await running(world, 'first');
  world.node.write('web.json', graceful('second'));
  await world.advance(30_000);
  const count = (pods: number) => [
    `kubelet_restarted_pods_total{static="true"} ${pods}`,
    'kubelet_restarted_pods_total{static=""} 0',
  ];
  expect(await restarts(world)).toEqual(count(0));
  world.node.recreate('web.json');
  await world.advance(40_000);
  expect(await restarts(world)).toEqual(count(1));
  world.node.write('web.json', graceful('third', { restartPolicy: 'Never' }));
  await world.advance(40_000);
  world.node.recreate('web.json');
  await world.advance(40_000);
  expect(await restarts(world)).toEqual(count(2));
  world.node.remove('web.json');
  await world.advance(40_000);
  expect(await restarts(world)).toEqual(count(2));
});

test('a manifest removed and written again at once restarts its pod', async () => {
  const world = await startCluster();
  const before = await running(world, 'first');
  const ip = world.pod('web-n')?.status?.podIP;
  world.node.recreate('web.json');
  await expectUnchanged(world, before, 19_000);
  expect(restartCount(world)).toBe(0);
  await world.advance(5_000);
  expect(shown(world)).toEqual(before);
  expect(restartCount(world)).toBe(1);
  expect(world.ready('web-n')).toBe('True');
  expect(world.pod('web-n')?.status?.podIP).not.toBe(ip);
  expect(world.callCount('runPodSandbox')).toBe(2);
  world.node.remove('web.json');
  await world.advance(40_000);
  expect(world.pod('web-n')).toBeUndefined();
  expect((await world.node.cri.listPodSandbox({})).items).toEqual([]);
});

test('a manifest restored while its pod terminates restarts the pod', async () => {
  const world = await startCluster();
  const before = await running(world, 'first');
  world.node.remove('web.json');
  await world.advance(10_000);
  world.node.write('web.json', graceful('first'));
  await world.advance(15_000);
  expect(shown(world)).toEqual(before);
  expect([restartCount(world), world.ready('web-n')]).toEqual([1, 'True']);
});

test('a manifest replaced by the same content does not restart its pod', async () => {
  const world = await startCluster();
  await running(world, 'first');
  for (let round = 0; round < 5; round++) {
    world.node.write('web.json', graceful('first'));
    await world.advance(300);
  }
  await world.advance(30_000);
  expect([restartCount(world), world.callCount('stopContainer')]).toEqual([0, 0]);
});

test('a pod with restartPolicy Never runs again when its manifest is removed and written again', async () => {
  const world = await startCluster();
  world.node.write('web.json', graceful('first', { restartPolicy: 'Never' }));
  await world.advance(5_000);
  const stall = world.node.cri.faults.stall('removeContainer');
  world.node.recreate('web.json');
  await world.advance(25_000);
  expect(stall.waiting).toBe(1);
  expect(world.phase('web-n')).toBe('Failed');
  stall.release();
  await world.advance(5_000);
  expect(world.phase('web-n')).toBe('Running');
  expect([restartCount(world), world.ready('web-n')]).toEqual([0, 'True']);
});
