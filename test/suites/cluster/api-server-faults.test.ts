// A node whose API server is down, busy, flooded or loses its history: running pods are not affected, and all statuses
// are reported afterwards.
import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../builders/builders.ts';
import { type ClusterWorld, readyOf, startCluster } from '../../simulate/cluster-world.ts';

function stops(world: ClusterWorld): number {
  return world.callCount('stopContainer') + world.callCount('stopPodSandbox');
}

test('static pods run while the API server is down at the start; node, mirror pods and statuses follow when it is up', async () => {
  const world = await startCluster({}, ({ api, node }) => {
    api.faults.goDown();
    node.write('web.json', aPod({ name: 'web', uid: 'static-uid' }));
  });
  await world.advance(180_000);
  expect(world.node.status('static-uid')?.phase).toBe('Running');
  expect(world.nodeObject()).toBeUndefined();
  world.api.faults.comeUp();
  await world.advance(70_000);
  expect(readyOf(world.nodeObject()?.status)).toBe('True');
  expect(world.ready('web-n')).toBe('True');
  expect(world.callCount('startContainer')).toBe(1);
});

test('running pods are not affected by an outage, and changes during it are reported in one write', async () => {
  const world = await startCluster();
  world.run('web');
  world.run('job', { restartPolicy: 'Never', containers: [aContainer({ name: 'j' })] });
  await world.advance(3_000);
  world.api.faults.goDown();
  await world.advance(60_000);
  world.node.cri.exitContainer('j', 0);
  await world.advance(180_000);
  const before = world.api.requests.length;
  const patches = world.requestCount('patch pods/status default/job');
  world.api.faults.comeUp();
  await world.advance(70_000);
  expect(world.phase('job')).toBe('Succeeded');
  expect(world.requestCount('patch pods/status default/job') - patches).toBe(1);
  expect([world.phase('web'), world.ready('web')]).toEqual(['Running', 'True']);
  expect(world.callCount('startContainer')).toBe(2);
  expect(world.api.requests.length - before).toBeLessThan(60);
});

test('a kubelet restart during an outage stops and starts no container, and pods deleted meanwhile end afterwards', async () => {
  const world = await startCluster();
  world.run('web');
  world.run('gone');
  await world.advance(3_000);
  const [starts, stopsBefore] = [world.callCount('startContainer'), stops(world)];
  world.api.faults.goDown();
  await world.node.stop();
  world.delete('gone', 0);
  await world.node.start();
  await world.advance(300_000);
  expect([world.callCount('startContainer'), stops(world)]).toEqual([starts, stopsBefore]);
  world.api.faults.comeUp();
  await world.advance(120_000);
  expect(world.callCount('startContainer')).toBe(starts);
  expect([world.phase('web'), world.ready('web')]).toEqual(['Running', 'True']);
  expect(world.callCount('removePodSandbox')).toBe(1);
});

test('a pod deleted while the kubelet is down is ended, reported and removed by the next kubelet', async () => {
  const world = await startCluster();
  world.run('web');
  world.run('done', { restartPolicy: 'Never', containers: [aContainer({ name: 'd' })] });
  await world.advance(3_000);
  world.node.cri.exitContainer('d', 0);
  await world.advance(2_000);
  await world.node.kill();
  world.delete('web');
  world.delete('done');
  await world.advance(10_000);
  await world.node.start();
  await world.advance(60_000);
  expect([world.pod('web'), world.pod('done')]).toEqual([undefined, undefined]);
  await world.advance(30_000);
  expect(world.callCount('removePodSandbox')).toBe(2);
  expect(world.callCount('startContainer')).toBe(2);
});

test('a repeatedly killed kubelet reports the actual status of every pod', async () => {
  const world = await startCluster();
  for (const name of ['a', 'b', 'c']) world.run(name);
  for (let run = 0; run < 5; run++) {
    await world.advance(150);
    await world.node.kill();
    await world.node.start();
  }
  await world.advance(60_000);
  expect(['a', 'b', 'c'].map((name) => world.ready(name))).toEqual(['True', 'True', 'True']);
  const restarts = ['a', 'b', 'c'].map(
    (name) => world.pod(name)?.status?.containerStatuses?.[0]?.restartCount,
  );
  expect(restarts).toEqual([0, 0, 0]);
});

const answers = [
  ['429', { code: 429, retryAfterSeconds: 2, times: 3 }],
  ['500', { code: 500, times: 3 }],
  ['a conflict', { code: 409, times: 2 }],
  ['a lost response', { code: 504, times: 1, when: 'after' }],
] as const;
for (const [name, failure] of answers)
  test(`statuses survive ${name}`, async () => {
    const world = await startCluster();
    world.api.faults.fail({ verb: 'patch', resource: 'pods', subresource: 'status' }, failure);
    world.run('web');
    await world.advance(30_000);
    expect([world.phase('web'), world.ready('web')]).toEqual(['Running', 'True']);
    expect(world.callCount('startContainer')).toBe(1);
  });

test('closed and expired watches do not affect pods', async () => {
  const world = await startCluster();
  world.run('a');
  await world.advance(3_000);
  world.api.faults.cutWatches();
  world.run('b');
  await world.advance(10_000);
  world.api.faults.expireWatches();
  world.run('c');
  await world.advance(60_000);
  expect(['a', 'b', 'c'].map((name) => world.ready(name))).toEqual(['True', 'True', 'True']);
  expect(stops(world)).toBe(0);
  expect(world.callCount('startContainer')).toBe(3);
});

test('a hundred pods created at once run with a few status writes each, and are all removed when deleted at once', async () => {
  const world = await startCluster();
  const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
  for (const name of names) world.run(name, { terminationGracePeriodSeconds: 1 });
  await world.advance(60_000);
  expect(names.filter((name) => world.ready(name) !== 'True')).toEqual([]);
  const patches = world.api.requestLines().filter((line) => line.startsWith('patch pods/status'));
  expect(patches.length).toBeLessThanOrEqual(400);
  for (const name of names) world.delete(name);
  await world.advance(60_000);
  expect(names.filter((name) => world.pod(name) !== undefined)).toEqual([]);
  expect(world.api.requestLines().filter((line) => line.startsWith('delete pods'))).toHaveLength(100);
  await world.advance(60_000);
  expect(world.callCount('removePodSandbox')).toBe(100);
}, 60_000);

test('a stalled API server does not delay pods, and the node recovers when it responds', async () => {
  const world = await startCluster();
  const stalled = world.api.faults.stall({ resource: 'nodes' });
  world.run('web');
  await world.advance(30_000);
  expect(world.ready('web')).toBe('True');
  stalled.remove();
  await world.advance(30_000);
  expect(readyOf(world.nodeObject()?.status)).toBe('True');
});
