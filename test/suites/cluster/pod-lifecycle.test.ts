// The lifecycle of nodes and pods in a cluster, in memory.
import { expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { readyOf, startCluster } from '../../simulate/cluster-world.ts';

test('the node registers, becomes Ready and renews its lease, within the rights of a node', async () => {
  const world = await startCluster();
  expect(readyOf(world.nodeObject()?.status)).toBe('True');
  expect(world.nodeObject()?.metadata?.labels).toMatchObject({ 'kubernetes.io/hostname': 'n' });
  const lease = world.api.objects.get('leases', 'kube-node-lease', 'n');
  expect(lease?.metadata?.ownerReferences).toMatchObject([
    { kind: 'Node', uid: world.nodeObject()?.metadata?.uid },
  ]);
  expect(world.forbidden()).toEqual([]);
  const reasons = world.api.objects.list('events', 'default').map(({ reason }) => reason);
  expect(reasons).toContain('Starting');
});

test('a bound pod runs and becomes Ready; its deletion completes after its clean-up', async () => {
  const world = await startCluster();
  world.run('web');
  await world.advance(3_000);
  expect([world.phase('web'), world.ready('web')]).toEqual(['Running', 'True']);
  expect(world.pod('web')?.status?.hostIP).toBe('192.0.2.2');
  world.delete('web');
  await world.advance(40_000);
  expect(world.pod('web')).toBeUndefined();
  expect(world.requestCount('delete pods default/web')).toBe(1);
  await world.advance(5_000);
  expect(world.callCount('removePodSandbox')).toBe(1);
  expect(world.forbidden()).toEqual([]);
});

test('a completed pod is reported, and not started again after a kubelet restart', async () => {
  const world = await startCluster();
  world.run('job', { restartPolicy: 'Never', containers: [aContainer({ command: ['sh', '-c', 'exit 3'] })] });
  await world.advance(5_000);
  expect(world.phase('job')).toBe('Failed');
  const starts = world.callCount('startContainer');
  await world.node.stop();
  await world.node.start();
  await world.advance(60_000);
  expect(world.callCount('startContainer')).toBe(starts);
  expect(world.phase('job')).toBe('Failed');
});

test('a rejected pod is Failed with the reason', async () => {
  const world = await startCluster();
  world.run('other', { nodeSelector: { 'kubernetes.io/hostname': 'another-node' } });
  await world.advance(2_000);
  expect(world.phase('other')).toBe('Failed');
  expect(world.pod('other')?.status?.reason).toBe('NodeAffinity');
  world.delete('other');
  await world.advance(40_000);
  expect(world.pod('other')).toBeUndefined();
});

test('a deleted pod with a finalizer ends, and its object stays', async () => {
  const world = await startCluster();
  world.run('kept', { finalizers: ['example.com/wait'], terminationGracePeriodSeconds: 1 });
  await world.advance(3_000);
  world.delete('kept');
  await world.advance(120_000);
  expect(world.pod('kept')?.metadata?.finalizers).toEqual(['example.com/wait']);
  expect(world.requestCount('delete pods default/kept')).toBe(1);
  expect(world.phase('kept')).toMatch(/Failed|Succeeded/);
});

test('a force-deleted pod ends, and a new pod of the same name runs independently', async () => {
  const world = await startCluster();
  const before = world.run('web', { uid: 'uid-1' });
  await world.advance(3_000);
  world.delete('web', 0);
  const after = world.run('web', { uid: 'uid-2' });
  expect(after.metadata?.uid).not.toBe(before.metadata?.uid);
  await world.advance(60_000);
  expect([world.phase('web'), world.ready('web')]).toEqual(['Running', 'True']);
  expect(world.pod('web')?.metadata?.uid).toBe(after.metadata?.uid);
  expect(world.callCount('removePodSandbox')).toBe(1);
});

test('a static pod has a mirror pod with its status, which is recreated when it is deleted', async () => {
  const world = await startCluster();
  world.node.write('web.json', aPod({ name: 'web', uid: 'static-uid' }));
  await world.advance(5_000);
  const mirror = world.pod('web-n');
  expect(mirror?.metadata?.annotations).toMatchObject({
    'kubernetes.io/config.mirror': 'static-uid',
    'kubernetes.io/config.hash': 'static-uid',
    'kubernetes.io/config.source': 'file',
  });
  expect(mirror?.metadata?.ownerReferences).toEqual([
    { apiVersion: 'v1', kind: 'Node', name: 'n', uid: world.nodeObject()?.metadata?.uid, controller: true },
  ]);
  expect([world.phase('web-n'), world.ready('web-n')]).toEqual(['Running', 'True']);
  world.delete('web-n', 0);
  await world.advance(2_000);
  expect(world.pod('web-n')?.metadata?.uid).not.toBe(mirror?.metadata?.uid);
  expect([world.phase('web-n'), world.ready('web-n')]).toEqual(['Running', 'True']);
  expect(world.callCount('startContainer')).toBe(1);
  world.node.remove('web.json');
  await world.advance(60_000);
  expect(world.pod('web-n')).toBeUndefined();
  expect(world.forbidden()).toEqual([]);
});

test('a manifest with another UID and the same name replaces the mirror pod', async () => {
  const world = await startCluster();
  world.node.write('web.json', aPod({ name: 'web', uid: 'first' }));
  await world.advance(5_000);
  world.node.write('web.json', aPod({ name: 'web', uid: 'second' }));
  await world.advance(60_000);
  expect(world.pod('web-n')?.metadata?.annotations?.['kubernetes.io/config.mirror']).toBe('second');
  expect(world.ready('web-n')).toBe('True');
});

test('the kubelet’s own writes do not cause calls to the runtime', async () => {
  const world = await startCluster();
  world.run('web');
  await world.advance(5_000);
  const calls = world.node.calls().length;
  const patches = world.requestCount('patch pods/status default/web');
  await world.advance(30_000);
  expect(world.node.calls().length).toBe(calls);
  expect(world.requestCount('patch pods/status default/web')).toBe(patches);
  expect(patches).toBeLessThanOrEqual(4);
});

const requesting = (cpu: string): PodOver => ({
  containers: [aContainer({ resources: { requests: { cpu } } })],
});

test('a pod that requests more than is free is Failed, with an event', async () => {
  const world = await startCluster();
  world.run('first', requesting('1500m'));
  await world.advance(3_000);
  world.run('second', requesting('1'));
  await world.advance(3_000);
  expect([world.phase('first'), world.phase('second')]).toEqual(['Running', 'Failed']);
  const message = "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000";
  expect(world.pod('second')?.status).toMatchObject({
    reason: 'OutOfcpu',
    message: `Pod was rejected: ${message}`,
  });
  const events = world.api.objects.list('events', 'default');
  expect(events.find(({ reason }) => reason === 'OutOfcpu')?.message).toBe(message);
});

test('a critical pod preempts another, which is Failed with the reason', async () => {
  const world = await startCluster();
  world.run('small', requesting('500m'));
  world.run('large', requesting('1500m'));
  await world.advance(3_000);
  world.run('critical', { ...requesting('1'), priority: 2_000_000_000 });
  await world.advance(60_000);
  expect([world.phase('small'), world.phase('large'), world.phase('critical')]).toEqual([
    'Running',
    'Failed',
    'Running',
  ]);
  expect(world.pod('large')?.status?.reason).toBe('Preempting');
  expect(world.pod('large')?.status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
  );
});

test('an ephemeral container added to a running pod is started', async () => {
  const world = await startCluster();
  world.run('debugged');
  await world.advance(3_000);
  const id = world.pod('debugged')?.status?.containerStatuses?.[0]?.containerID;
  world.change('debugged', (pod) => ({
    ...pod,
    spec: {
      ...pod.spec,
      containers: pod.spec?.containers ?? [],
      ephemeralContainers: [{ ...aContainer(), name: 'debug' }],
    },
  }));
  await world.advance(3_000);
  const status = world.pod('debugged')?.status;
  expect(status?.phase).toBe('Running');
  expect(status?.ephemeralContainerStatuses?.[0]?.state?.running).toBeDefined();
  expect(status?.containerStatuses?.[0]).toMatchObject({ containerID: id, restartCount: 0 });
});

test('a readiness gate that turns True makes the pod Ready', async () => {
  const world = await startCluster();
  world.run('gated', { readinessGates: [{ conditionType: 'example.com/gate' }] });
  await world.advance(3_000);
  expect([world.phase('gated'), world.ready('gated')]).toEqual(['Running', 'False']);
  const open = { type: 'example.com/gate', status: 'True' };
  const conditions = [...(world.pod('gated')?.status?.conditions ?? []), open];
  world.api.objects.patch('pods', 'default', 'gated', { status: { conditions } }, 'status');
  await world.advance(1_000);
  expect(world.ready('gated')).toBe('True');
  expect(world.pod('gated')?.status?.conditions).toContainEqual(open);
});

test('the kubelet corrects a status that another client has overwritten', async () => {
  const world = await startCluster();
  world.run('web');
  await world.advance(3_000);
  const conditions = (world.pod('web')?.status?.conditions ?? []).map((each) => ({
    ...each,
    status: 'False',
  }));
  world.api.objects.patch('pods', 'default', 'web', { status: { conditions } }, 'status');
  await world.advance(1_000);
  expect(world.ready('web')).toBe('True');
});

test('a runtime that is not ready makes the node NotReady until it recovers', async () => {
  const world = await startCluster();
  world.node.cri.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
  await world.advance(6_000);
  const ready = world.nodeObject()?.status?.conditions?.find(({ type }) => type === 'Ready');
  expect(ready).toMatchObject({
    status: 'False',
    reason: 'KubeletNotReady',
    message:
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized',
  });
  world.node.cri.setCondition('NetworkReady', true);
  await world.advance(1_000);
  expect(readyOf(world.nodeObject()?.status)).toBe('True');
  const reasons = world.api.objects.list('events', 'default').map(({ reason }) => reason);
  expect(reasons).toEqual(expect.arrayContaining(['NodeNotReady', 'NodeReady']));
});
