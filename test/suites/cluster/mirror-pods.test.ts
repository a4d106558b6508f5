// Mirror pods in memory, after upstream's mirror_pod_test.go and mirror_pod_grace_period_test.go.
import { expect, test } from 'vitest';
import { aPod } from '../../builders/builders.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';
import { expectUnchanged, graceful, running, shown } from '../../simulate/mirror-pod-kit.ts';

test('a mirror pod stays Running for the grace period of a removed static pod', async () => {
  const world = await startCluster();
  const before = await running(world, 'first');
  world.node.remove('web.json');
  await expectUnchanged(world, before, 19_000);
  await world.advance(5_000);
  expect(world.pod('web-n')).toBeUndefined();
});

test('a mirror pod shows the old static pod for its grace period when the manifest is edited', async () => {
  const world = await startCluster();
  const before = await running(world, 'first');
  world.node.write('web.json', aPod({ name: 'web', uid: 'second' }));
  await expectUnchanged(world, before, 19_000);
  await world.advance(5_000);
  expect(shown(world)).toEqual([expect.any(String), 'Running', 'second']);
  expect(world.pod('web-n')?.metadata?.uid).not.toBe(before[0]);
  expect(world.ready('web-n')).toBe('True');
});

test('a mirror pod shows the last of many edits made during the grace period', async () => {
  const world = await startCluster();
  const before = await running(world, 'first');
  for (let edit = 0; edit < 150; edit++) {
    world.node.write('web.json', aPod({ name: 'web', uid: `edit-${edit}` }));
    if (edit * 100 < 19_000) expect(shown(world)).toEqual(before);
    await world.advance(100);
  }
  world.node.write('web.json', aPod({ name: 'web', uid: 'last' }));
  await world.advance(60_000);
  expect(shown(world)).toEqual([expect.any(String), 'Running', 'last']);
  expect(world.ready('web-n')).toBe('True');
  expect(world.forbidden()).toEqual([]);
});

test.each(['edited', 'removed'])(
  'a mirror pod stays while a restarted kubelet ends the static pod that was %s',
  async (how) => {
    const world = await startCluster();
    const before = await running(world, 'first');
    if (how === 'edited') world.node.write('web.json', aPod({ name: 'web', uid: 'second' }));
    else world.node.remove('web.json');
    await world.advance(5_000);
    await world.node.kill();
    const stall = world.node.cri.faults.stall('listPodSandbox', { times: 1_000 });
    await world.node.start();
    await expectUnchanged(world, before, 10_000);
    stall.release();
    // The kubelet starts a whole grace period again.
    await expectUnchanged(world, before, 8_000);
    await world.advance(60_000);
    if (how === 'removed') expect(world.pod('web-n')).toBeUndefined();
    else expect(shown(world)).toEqual([expect.any(String), 'Running', 'second']);
  },
);

test('a mirror pod deleted with a grace period is replaced while its static pod keeps running', async () => {
  const world = await startCluster();
  const before = await running(world, 'first');
  world.delete('web-n', 30);
  await world.advance(4_000);
  expect(shown(world)).toEqual([expect.not.stringMatching(`${before[0]}`), 'Running', 'first']);
  expect(world.callCount('startContainer')).toBe(1);
});

test('a mirror pod changed by a user keeps its UID, and its static pod keeps running', async () => {
  const world = await startCluster();
  const before = await running(world, 'first');
  world.change('web-n', (pod) => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { mine: 'yes' } },
    status: { ...pod.status, phase: 'Failed' },
  }));
  await world.advance(15_000);
  expect(shown(world)).toEqual(before);
  expect([world.callCount('startContainer'), world.callCount('stopContainer')]).toEqual([1, 0]);
});

test.each([
  ['does not exist', async (): Promise<void> => undefined],
  [
    'is being deleted',
    async (world: ClusterWorld): Promise<void> => {
      const metadata = { name: 'gone', finalizers: ['example.com/hold'] };
      world.api.objects.create('namespaces', { metadata });
      await world.advance(100);
      world.api.objects.delete('namespaces', '', 'gone');
    },
  ],
])(
  'a mirror pod whose namespace %s is retried with back-off and one log line per attempt',
  async (_how, prepare) => {
    const world = await startCluster();
    await prepare(world);
    world.node.write('web.json', aPod({ name: 'web', uid: 'first', namespace: 'gone' }));
    const attempts = (): number =>
      world.api.requestLines().filter((line) => line === 'create pods gone').length;
    // A busy node: pods and statuses change several times a second.
    for (let round = 0; round < 30; round++) {
      world.run(`busy-${round}`);
      await world.advance(500);
      world.delete(`busy-${round}`, 0);
      await world.advance(500);
    }
    // After 0, 0.5, 1.5, 3.5, 7.5, 15.5 s and then every 10 to 12 s.
    expect(attempts()).toBeGreaterThan(4);
    expect(attempts()).toBeLessThan(9);
    expect(world.node.logged('Failed to sync mirror pod')).toHaveLength(attempts());
  },
);

test('a mirror pod keeps its transition and start times when the kubelet is restarted', async () => {
  const world = await startCluster();
  await running(world, 'first');
  const before = world.pod('web-n');
  const patches = world.requestCount('patch pods/status default/web-n');
  await world.advance(60_000);
  await world.node.kill();
  await world.advance(60_000);
  await world.node.start();
  await world.advance(30_000);
  expect(world.pod('web-n')?.status).toEqual(before?.status);
  expect(world.requestCount('patch pods/status default/web-n')).toBe(patches);
});

test('a mirror pod keeps its times when the API server responds late', async () => {
  const world = await startCluster();
  await running(world, 'first');
  const before = world.pod('web-n');
  await world.node.kill();
  await world.advance(60_000);
  world.api.faults.goDown();
  await world.node.start();
  await world.advance(30_000);
  world.api.faults.comeUp();
  await world.advance(60_000);
  expect(world.pod('web-n')?.status).toEqual(before?.status);
});

test('a static pod does not take over the times of a mirror pod of another static pod', async () => {
  const world = await startCluster();
  await running(world, 'first');
  const before = world.pod('web-n');
  await world.node.kill();
  world.node.write('web.json', graceful('second'));
  await world.node.start();
  await world.advance(60_000);
  expect(shown(world)).toEqual([expect.any(String), 'Running', 'second']);
  const times = world.pod('web-n')?.status?.conditions?.map((each) => each.lastTransitionTime);
  for (const { lastTransitionTime } of before?.status?.conditions ?? [])
    expect(times).not.toContain(lastTransitionTime);
});
