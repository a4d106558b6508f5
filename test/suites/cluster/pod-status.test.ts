// Statuses and events of pods on the API server, in memory: conditions, pods killed by the node, events.
import { expect, test } from 'vitest';
import type { Event, PodCondition } from '../../../src/api/k8s/types.ts';
import { aContainer } from '../../builders/builders.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';

function condition(world: ClusterWorld, name: string, type: string): Partial<PodCondition> | undefined {
  const found = world.pod(name)?.status?.conditions?.find((each) => each.type === type);
  if (found === undefined) return undefined;
  const { status, reason, message } = found;
  return { status, ...(reason && { reason }), ...(message && { message }) };
}

function eventsOf(world: ClusterWorld, name: string): readonly Event[] {
  return world.api.objects
    .list('events', 'default')
    .filter(({ involvedObject }) => involvedObject.kind === 'Pod' && involvedObject.name === name);
}

test('a pod with a readiness gate is Ready exactly while the gate is True', async () => {
  const world = await startCluster();
  const conditionType = 'example.com/lb';
  world.run('web', { readinessGates: [{ conditionType }] });
  await world.advance(3_000);
  expect(condition(world, 'web', 'ContainersReady')).toEqual({ status: 'True' });
  expect(condition(world, 'web', 'Ready')).toEqual({
    status: 'False',
    reason: 'ReadinessGatesNotReady',
    message: `corresponding condition of pod readiness gate "${conditionType}" does not exist.`,
  });
  const others = (): readonly PodCondition[] =>
    (world.pod('web')?.status?.conditions ?? []).filter(({ type }) => type !== conditionType);
  const setGate = (status: string): unknown =>
    world.api.objects.patch(
      'pods',
      'default',
      'web',
      { status: { conditions: [...others(), { type: conditionType, status }] } },
      'status',
    );
  setGate('True');
  await world.advance(3_000);
  expect(condition(world, 'web', 'Ready')).toEqual({ status: 'True' });
  setGate('False');
  await world.advance(3_000);
  expect(condition(world, 'web', 'Ready')).toMatchObject({
    status: 'False',
    message: `the status of pod readiness gate "${conditionType}" is not "True", but False`,
  });
  expect(condition(world, 'web', conditionType)).toEqual({ status: 'False' });
});

test('a pod is ready to start containers before its image is pulled, with the reason until then', async () => {
  const world = await startCluster();
  world.node.cri.faults.latency('runPodSandbox', 1_000);
  world.node.cri.faults.latency('pullImage', 60_000);
  const image = 'docker.io/library/slow:1';
  world.run('slow', { containers: [aContainer({ image, imagePullPolicy: 'Always' })] });
  await world.advance(500);
  expect(condition(world, 'slow', 'PodReadyToStartContainers')).toEqual({
    status: 'False',
    reason: 'PodSandboxNotReady',
    message: 'no pod sandbox exists',
  });
  await world.advance(1_500);
  expect(condition(world, 'slow', 'PodReadyToStartContainers')).toEqual({ status: 'True' });
  await world.advance(30_000);
  expect(condition(world, 'slow', 'PodReadyToStartContainers')).toEqual({ status: 'True' });
});

test('a pod killed by the node is Failed with the reason once its containers have ended', async () => {
  const world = await startCluster();
  const deaf = aContainer({ command: ['sh', '-c', "trap '' TERM; sleep 1000"] });
  const pod = world.run('victim', { containers: [deaf], terminationGracePeriodSeconds: 5 });
  await world.advance(3_000);
  const message = 'The node was low on resource: memory.';
  const killed = world.node.killPod(pod.metadata?.uid ?? '', {
    reason: 'Evicted',
    message,
    condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
  });
  await world.advance(3_000);
  expect(world.phase('victim')).toBe('Running');
  expect(condition(world, 'victim', 'DisruptionTarget')).toBeUndefined();
  await world.advance(10_000);
  await killed;
  expect(world.pod('victim')?.status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
  expect(condition(world, 'victim', 'DisruptionTarget')).toEqual({
    status: 'True',
    reason: 'TerminationByKubelet',
    message,
  });
  expect(condition(world, 'victim', 'Ready')).toEqual({ status: 'False', reason: 'PodFailed' });
  const starts = world.callCount('startContainer');
  await world.advance(120_000);
  expect(world.callCount('startContainer')).toBe(starts);
  expect(world.phase('victim')).toBe('Failed');
});

test('events refer to the container and the pod’s object; repeated events increment the count of one object', async () => {
  const world = await startCluster();
  world.run('crash', { containers: [aContainer({ command: ['sh', '-c', 'exit 1'] })] });
  await world.advance(60_000);
  const events = eventsOf(world, 'crash');
  const created = events.find(({ reason }) => reason === 'Created');
  expect(created).toMatchObject({
    type: 'Normal',
    message: 'Container created',
    count: world.callCount('createContainer'),
    source: { component: 'kubelet', host: 'n' },
    reportingComponent: 'kubelet',
    reportingInstance: 'n',
    involvedObject: {
      kind: 'Pod',
      apiVersion: 'v1',
      namespace: 'default',
      name: 'crash',
      uid: world.pod('crash')?.metadata?.uid,
      fieldPath: 'spec.containers{c}',
    },
  });
  expect(created?.metadata.name).toMatch(/^crash\.[0-9a-f]{16}$/);
  const reasons = events.map(({ reason = '' }) => reason);
  expect(reasons.toSorted()).toEqual(['BackOff', 'Created', 'Pulled', 'Started']);
  expect(world.forbidden()).toEqual([]);
});

test('events during an outage of the API server are sent when it is up', async () => {
  const world = await startCluster();
  world.run('web', { terminationGracePeriodSeconds: 1 });
  await world.advance(200);
  world.api.faults.goDown();
  await world.advance(15_000);
  world.api.faults.comeUp();
  await world.advance(60_000);
  expect(eventsOf(world, 'web').map(({ reason }) => reason)).toEqual(
    expect.arrayContaining(['Pulled', 'Created', 'Started']),
  );
});

test('an ephemeral container is started once and reported, and does not affect readiness', async () => {
  const world = await startCluster();
  world.run('web');
  await world.advance(3_000);
  const debug = {
    ...aContainer({ name: 'debug', command: ['sh', '-c', 'exit 7'] }),
    targetContainerName: 'c',
  };
  world.api.objects.patch(
    'pods',
    'default',
    'web',
    { spec: { ephemeralContainers: [debug] } },
    'ephemeralcontainers',
  );
  await world.advance(30_000);
  const { ephemeralContainerStatuses, containerStatuses } = world.pod('web')?.status ?? {};
  expect(ephemeralContainerStatuses).toMatchObject([
    { name: 'debug', restartCount: 0, ready: false, state: { terminated: { exitCode: 7, reason: 'Error' } } },
  ]);
  expect(containerStatuses).toMatchObject([{ name: 'c', ready: true, restartCount: 0 }]);
  expect([world.phase('web'), world.ready('web')]).toEqual(['Running', 'True']);
  const emitted = eventsOf(world, 'web').filter(
    ({ involvedObject }) => involvedObject.fieldPath === 'spec.ephemeralContainers{debug}',
  );
  expect(emitted.map(({ reason }) => reason)).toEqual(['Pulled', 'Created', 'Started']);
  expect(world.callCount('createContainer')).toBe(2);
});

test.each(['OnFailure', 'Never'] as const)(
  'a container with a changed image runs again, whatever its exit code, with restartPolicy %s',
  async (restartPolicy) => {
    const world = await startCluster();
    const command = ['sh', '-c', 'trap "exit 0" TERM; while true; do sleep 0.2; done'];
    const images = ['docker.io/library/busybox:1', 'docker.io/library/busybox:latest'];
    world.node.cri.addImage({ name: images[1] ?? '' });
    const spec = (image = ''): object => ({ restartPolicy, containers: [aContainer({ command, image })] });
    world.run('job', spec(images[0]));
    await world.advance(3_000);
    const own = () => world.pod('job')?.status?.containerStatuses?.[0];
    expect(own()).toMatchObject({ restartCount: 0, state: { running: {} } });
    // Long enough for the exit to be observed before the next start.
    world.node.cri.faults.latency('createContainer', 5_000);
    world.api.objects.patch('pods', 'default', 'job', { spec: spec(images[1]) });
    await world.advance(3_000);
    expect(own()).toMatchObject({ restartCount: 0, state: { running: {} } });
    await world.advance(5_000);
    expect(own()).toMatchObject({
      restartCount: 1,
      state: { running: {} },
      lastState: { terminated: { exitCode: 0 } },
    });
  },
);
