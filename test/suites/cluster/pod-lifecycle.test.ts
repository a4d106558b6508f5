// What a node of a cluster does, end to end in memory.
import { expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { readyOf, startCluster } from '../../simulate/cluster-world.ts';

test('the node registers, is ready, has its lease, and everything within what a node may do', async () => {
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

test('a bound pod runs and is ready; deleted, its object goes when nothing of it is left', async () => {
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

test('a pod that ends by itself is reported, and not started again by the next kubelet', async () => {
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

test('a pod that is not admitted is Failed with the reason', async () => {
  const world = await startCluster();
  world.run('other', { nodeSelector: { 'kubernetes.io/hostname': 'elsewhere' } });
  await world.advance(2_000);
  expect(world.phase('other')).toBe('Failed');
  expect(world.pod('other')?.status?.reason).toBe('NodeAffinity');
  world.delete('other');
  await world.advance(40_000);
  expect(world.pod('other')).toBeUndefined();
});

test('a pod with a finalizer ends and its object stays', async () => {
  const world = await startCluster();
  world.run('kept', { finalizers: ['example.com/wait'], terminationGracePeriodSeconds: 1 });
  await world.advance(3_000);
  world.delete('kept');
  await world.advance(120_000);
  expect(world.pod('kept')?.metadata?.finalizers).toEqual(['example.com/wait']);
  expect(world.requestCount('delete pods default/kept')).toBe(1);
  expect(world.phase('kept')).toMatch(/Failed|Succeeded/);
});

test('a pod that is force-deleted ends, and one of the same name after it runs on its own', async () => {
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

test('a static pod has a mirror pod with its status, which comes back when somebody deletes it', async () => {
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

test('another manifest under the same name replaces the mirror pod', async () => {
  const world = await startCluster();
  world.node.write('web.json', aPod({ name: 'web', uid: 'first' }));
  await world.advance(5_000);
  world.node.write('web.json', aPod({ name: 'web', uid: 'second' }));
  await world.advance(60_000);
  expect(world.pod('web-n')?.metadata?.annotations?.['kubernetes.io/config.mirror']).toBe('second');
  expect(world.ready('web-n')).toBe('True');
});

test('nothing that the kubelet wrote itself makes it ask the runtime again', async () => {
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

const asking = (cpu: string): PodOver => ({ containers: [aContainer({ resources: { requests: { cpu } } })] });

test('a pod that asks for more than is left is Failed, and told so by an event', async () => {
  const world = await startCluster();
  world.run('first', asking('1500m'));
  await world.advance(3_000);
  world.run('second', asking('1'));
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

test('a critical pod takes the place of another, which is Failed with the reason', async () => {
  const world = await startCluster();
  world.run('small', asking('500m'));
  world.run('large', asking('1500m'));
  await world.advance(3_000);
  world.run('critical', { ...asking('1'), priority: 2_000_000_000 });
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

test('a container that is added to a running pod is started beside the others', async () => {
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

test('a readiness gate that somebody opens makes the pod ready', async () => {
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

test('what somebody else writes over the kubelet’s own report is set right', async () => {
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

test('a runtime that goes down makes the node not ready, and ready again when it is back', async () => {
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
