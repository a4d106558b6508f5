// Volumes of a pod whose content comes from the API server, through the real watches and token requests.
import { expect, onTestFinished, test } from 'vitest';
import { KubeletError } from '../base/errors.ts';
import { aContainer } from './builders.ts';
import { ClusterWorld } from './cluster-world.ts';

async function started(): Promise<ClusterWorld> {
  const world = new ClusterWorld();
  onTestFinished(() => world.close());
  world.api.objects.create('serviceaccounts', { metadata: { namespace: 'default', name: 'sa' } });
  await world.node.start();
  await world.advance(2_000);
  return world;
}

const volumes = [
  { name: 'config', configMap: { name: 'cm' } },
  {
    name: 'access',
    projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] },
  },
];
const mounting = aContainer({
  volumeMounts: [
    { name: 'config', mountPath: '/config' },
    { name: 'access', mountPath: '/access' },
  ],
});

function putConfig(world: ClusterWorld, value: string): void {
  const object = { metadata: { namespace: 'default', name: 'cm' }, data: { k: value } };
  const known = world.api.objects.get('configmaps', 'default', 'cm');
  if (known === undefined) world.api.objects.create('configmaps', object);
  else world.api.objects.update('configmaps', { ...known, data: { k: value } });
}

function run(world: ClusterWorld): (plugin: string, volume: string, file: string) => string | undefined {
  const pod = world.run('web', { volumes, containers: [mounting], serviceAccountName: 'sa' });
  const root = `/var/lib/kubelet/pods/${pod.metadata?.uid}/volumes`;
  return (plugin, volume, file) => world.node.volumes.text(`${root}/kubernetes.io~${plugin}/${volume}`, file);
}

test('a pod waits for its config map, starts when it comes, and sees it change', async () => {
  const world = await started();
  const text = run(world);
  await world.advance(5_000);
  expect(world.phase('web')).toBe('Pending');
  putConfig(world, '1');
  await world.advance(2_000);
  expect(world.phase('web')).toBe('Running');
  expect(text('configmap', 'config', 'k')).toBe('1');
  const first = text('projected', 'access', 'token');
  expect(first).not.toBe('');
  putConfig(world, '2');
  await world.advance(2_000);
  expect(text('configmap', 'config', 'k')).toBe('2');
  // Renewed before it ends.
  await world.advance(600_000);
  expect(text('projected', 'access', 'token')).not.toBe(first);
  const events = world.api.objects.list('events', 'default').filter(({ reason }) => reason === 'FailedMount');
  expect(events.map(({ message }) => message)).toEqual([
    'MountVolume.SetUp failed for volume "config" : configmap "cm" not found',
  ]);
});

test('the API server is away when the kubelet comes back: what is mounted goes on being used', async () => {
  const world = await started();
  putConfig(world, '1');
  const text = run(world);
  await world.advance(3_000);
  expect(world.phase('web')).toBe('Running');
  world.api.faults.away();
  await world.node.stop();
  await world.node.start();
  await world.advance(200_000);
  expect(text('configmap', 'config', 'k')).toBe('1');
  world.api.faults.back();
  putConfig(world, '2');
  await world.advance(120_000);
  expect(text('configmap', 'config', 'k')).toBe('2');
  expect(world.did('startContainer')).toBe(1);
  expect(world.node.volumes.mounts).toHaveLength(1);
});

test('a deleted pod leaves the API server only when its volumes are gone', async () => {
  const world = await started();
  putConfig(world, '1');
  run(world);
  await world.advance(3_000);
  world.node.volumes.breaks('unmount', () => Promise.reject(new KubeletError('conflict', 'EBUSY', 'busy')));
  world.delete('web', 1);
  await world.advance(30_000);
  expect(world.pod('web')).toBeDefined();
  world.node.volumes.breaks('unmount', undefined);
  await world.advance(60_000);
  expect(world.pod('web')).toBeUndefined();
  expect(world.node.volumes.mounts).toEqual([]);
});
