// Pods and the Node object they are admitted on: it comes first, it may be newer than its watch, and it declares features.
import { expect, test } from 'vitest';
import { aContainer } from '../../builders/builders.ts';
import { startCluster } from '../../simulate/cluster-world.ts';

const forever = { code: 500, times: Number.POSITIVE_INFINITY };

test('no pod of the API server is read before the Node object exists', async () => {
  const world = await startCluster({}, ({ api }) => {
    api.faults.fail({ verb: 'create', resource: 'nodes' }, { code: 500, times: 8 });
  });
  world.run('p');
  const podRequests = (): number =>
    world.api.requests.filter(({ resource, subresource }) => resource === 'pods' && subresource === '')
      .length;
  expect([world.nodeObject(), podRequests()]).toEqual([undefined, 0]);
  await world.advance(60_000);
  expect(world.nodeObject()).toBeDefined();
  expect(world.phase('p')).toBe('Running');
});

test('a label that the watch has not delivered yet is read from the API server before a pod is rejected', async () => {
  const world = await startCluster();
  for (const verb of ['watch', 'list'] as const) world.api.faults.fail({ verb, resource: 'nodes' }, forever);
  world.api.faults.cutWatches();
  world.api.objects.patch('nodes', '', 'n', { metadata: { labels: { zone: 'a' } } });
  world.run('here', { nodeSelector: { zone: 'a' } });
  world.run('other-zone', { nodeSelector: { zone: 'b' } });
  await world.advance(30_000);
  expect([world.phase('here'), world.phase('other-zone')]).toEqual(['Running', 'Failed']);
  expect(world.pod('other-zone')?.status?.reason).toBe('NodeAffinity');
});

test('a pod that requires an undeclared feature is rejected', async () => {
  const world = await startCluster({ gates: { RestartAllContainersOnContainerExits: false } });
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } };
  world.run('p', { containers: [aContainer({ restartPolicy: 'Never', restartPolicyRules: [rule] })] });
  await world.advance(5_000);
  expect(world.pod('p')?.status).toMatchObject({
    phase: 'Failed',
    reason: 'PodFeatureUnsupported',
    message:
      'Pod was rejected: Pod requires node features that are not available: RestartAllContainersOnContainerExits',
  });
});

test('an update that requires an undeclared feature is reported by an event, and the pod keeps running', async () => {
  const world = await startCluster({ gates: { InPlacePodLevelResourcesVerticalScaling: false } });
  const resources = (cpu: string) => ({ requests: { cpu }, limits: { cpu: '2' } });
  world.run('p', { resources: resources('500m') });
  await world.advance(10_000);
  expect(world.phase('p')).toBe('Running');
  world.change('p', (pod) => ({
    ...pod,
    ...(pod.spec && { spec: { ...pod.spec, resources: resources('1') } }),
  }));
  await world.advance(10_000);
  const reasons = world.api.objects.list('events').map(({ reason }) => reason);
  expect(reasons.filter((each) => each === 'FailedNodeDeclaredFeaturesCheck')).toHaveLength(1);
  expect(world.phase('p')).toBe('Running');
});

test('events of the node carry its UID', async () => {
  const world = await startCluster();
  await world.advance(15_000);
  const uid = world.nodeObject()?.metadata?.uid;
  const objects = world.api.objects
    .list('events')
    .map(({ involvedObject }) => involvedObject)
    .filter(({ kind }) => kind === 'Node');
  expect(objects).toContainEqual({ kind: 'Node', apiVersion: 'v1', name: 'n', uid });
});
