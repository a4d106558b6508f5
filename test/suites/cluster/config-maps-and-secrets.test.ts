// ConfigMaps, Secrets and tokens of pods from the API server, within a node's rights: also when they are created late,
// change, or the server is down.
import { expect, test } from 'vitest';
import { aContainer } from '../../builders/builders.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';

function configMap(world: ClusterWorld, value: string): void {
  if (world.api.objects.get('configmaps', 'default', 'conf') === undefined) {
    world.api.objects.create('configmaps', {
      metadata: { name: 'conf', namespace: 'default' },
      data: { value },
    });
  } else world.api.objects.patch('configmaps', 'default', 'conf', { data: { value } });
}

function secret(world: ClusterWorld): void {
  const data = { password: Buffer.from('hunter2').toString('base64') };
  world.api.objects.create('secrets', { metadata: { name: 'cred', namespace: 'default' }, data });
}

function run(world: ClusterWorld): string {
  const pod = world.run('p', {
    serviceAccountName: 'default',
    volumes: [
      { name: 'conf', configMap: { name: 'conf' } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    ],
    containers: [
      aContainer({
        env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'cred', key: 'password' } } }],
        volumeMounts: [
          { name: 'conf', mountPath: '/conf' },
          { name: 'token', mountPath: '/token' },
        ],
      }),
    ],
  });
  return pod.metadata?.uid ?? '';
}

function content(world: ClusterWorld, uid: string, volume: string, file: string): string | undefined {
  return world.node.volumes.text(`/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~${volume}`, file);
}

function watched(world: ClusterWorld): readonly string[] {
  return [...world.api.watches]
    .map(({ type }) => type.plural)
    .filter((plural) => plural === 'configmaps' || plural === 'secrets')
    .toSorted();
}

test('a pod gets its objects by requests that a node may make, and watches end with the pod', async () => {
  const world = await startCluster();
  configMap(world, '1');
  secret(world);
  const uid = run(world);
  await world.advance(5_000);
  expect(world.phase('p')).toBe('Running');
  const created = world.node.cri.calls.find(({ method }) => method === 'CreateContainer')?.request;
  expect(created).toMatchObject({
    config: {
      envs: expect.arrayContaining([{ key: 'PASSWORD', value: new TextEncoder().encode('hunter2') }]),
    },
  });
  expect(content(world, uid, 'configmap/conf', 'value')).toBe('1');
  expect(content(world, uid, 'projected/token', 'token')?.split('.')).toHaveLength(3);
  expect(world.requestCount('create serviceaccounts/token default/default')).toBe(1);
  expect([
    world.requestCount('watch configmaps default/conf'),
    world.requestCount('watch secrets default/cred'),
  ]).toEqual([1, 1]);
  expect(watched(world)).toEqual(['configmaps', 'secrets']);
  expect(world.forbidden()).toEqual([]);
  expect(world.node.log.join('\n')).not.toContain('hunter2');
  world.delete('p', 1);
  await world.advance(20_000);
  expect(world.pod('p')).toBeUndefined();
  expect(watched(world)).toEqual([]);
});

test('a pod waits for missing objects, and a change appears in the volume at once', async () => {
  const world = await startCluster();
  secret(world);
  const uid = run(world);
  await world.advance(10_000);
  expect(world.phase('p')).toBe('Pending');
  configMap(world, '1');
  await world.advance(30_000);
  expect(world.phase('p')).toBe('Running');
  configMap(world, '2');
  await world.advance(1_000);
  expect(content(world, uid, 'configmap/conf', 'value')).toBe('2');
});

test('an outage and a kubelet restart leave pods and volumes untouched, and changes arrive afterwards', async () => {
  const world = await startCluster();
  configMap(world, '1');
  secret(world);
  const uid = run(world);
  await world.advance(5_000);
  world.api.faults.goDown();
  configMap(world, '2');
  await world.node.stop();
  await world.node.start();
  await world.advance(120_000);
  expect([world.callCount('createContainer'), world.callCount('stopContainer')]).toEqual([1, 0]);
  expect(content(world, uid, 'configmap/conf', 'value')).toBe('1');
  world.api.faults.comeUp();
  await world.advance(120_000);
  expect(content(world, uid, 'configmap/conf', 'value')).toBe('2');
  expect([world.callCount('createContainer'), world.callCount('stopContainer'), world.phase('p')]).toEqual([
    1,
    0,
    'Running',
  ]);
});
