// Volumes with content from the API server, through real watches and token requests.
import { describe, expect, test } from 'vitest';
import { KubeletError } from '../../../src/base/errors.ts';
import type { FeatureGates } from '../../../src/config/gates/feature-gates.ts';
import { aContainer } from '../../builders/builders.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';

function start(gates: Partial<FeatureGates> = {}, handlers: readonly string[] = []): Promise<ClusterWorld> {
  return startCluster({ gates, handlers }, ({ api }) =>
    api.objects.create('serviceaccounts', { metadata: { namespace: 'default', name: 'sa' } }),
  );
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

test('a pod waits for its ConfigMap, starts when it is created, and gets its changes', async () => {
  const world = await start();
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
  // The token is renewed before it expires.
  await world.advance(600_000);
  expect(text('projected', 'access', 'token')).not.toBe(first);
  const events = world.api.objects.list('events', 'default').filter(({ reason }) => reason === 'FailedMount');
  expect(events.map(({ message }) => message)).toEqual([
    'MountVolume.SetUp failed for volume "config" : configmap "cm" not found',
  ]);
});

test('mounts recursively read-only if the handler of the RuntimeClass supports it, whatever the name of the class', async () => {
  const world = await start({}, ['kata-qemu']);
  world.api.objects.create('runtimeclasses', { metadata: { name: 'kata' }, handler: 'kata-qemu' });
  const volumeMounts = [{ name: 'cache', mountPath: '/cache', readOnly: true, recursiveReadOnly: 'Enabled' }];
  world.run('web', {
    runtimeClassName: 'kata',
    volumes: [{ name: 'cache', emptyDir: {} }],
    containers: [aContainer({ volumeMounts })],
  });
  await world.advance(5_000);
  expect(world.phase('web')).toBe('Running');
  const create = world.node.cri.calls.find(({ method }) => method === 'CreateContainer')?.request;
  const mount: unknown = expect.objectContaining({ containerPath: '/cache', recursiveReadOnly: true });
  expect(create).toMatchObject({ config: { mounts: expect.arrayContaining([mount]) as unknown } });
});

test('mounted volumes stay in use if the API server is down at a kubelet restart', async () => {
  const world = await start();
  putConfig(world, '1');
  const text = run(world);
  await world.advance(3_000);
  expect(world.phase('web')).toBe('Running');
  world.api.faults.goDown();
  await world.node.stop();
  await world.node.start();
  await world.advance(200_000);
  expect(text('configmap', 'config', 'k')).toBe('1');
  world.api.faults.comeUp();
  putConfig(world, '2');
  await world.advance(120_000);
  expect(text('configmap', 'config', 'k')).toBe('2');
  expect(world.callCount('startContainer')).toBe(1);
  expect(world.node.volumes.mounts).toHaveLength(1);
});

test('the object of a deleted pod is removed only after its volumes are unmounted', async () => {
  const world = await start();
  putConfig(world, '1');
  run(world);
  await world.advance(3_000);
  world.node.volumes.injectFault('unmount', () =>
    Promise.reject(new KubeletError('conflict', 'EBUSY', 'busy')),
  );
  world.delete('web', 1);
  await world.advance(30_000);
  expect(world.pod('web')).toBeDefined();
  world.node.volumes.injectFault('unmount', undefined);
  await world.advance(60_000);
  expect(world.pod('web')).toBeUndefined();
  expect(world.node.volumes.mounts).toEqual([]);
});

describe('trust bundles', () => {
  const pem = (text: string): string =>
    `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;
  const source = { signerName: 'example.com/s', labelSelector: {}, path: 'ca.pem' };
  const runWith = (world: ClusterWorld): (() => string | undefined) => {
    const pod = world.run('web', {
      volumes: [{ name: 'trust', projected: { sources: [{ clusterTrustBundle: source }] } }],
      containers: [aContainer({ volumeMounts: [{ name: 'trust', mountPath: '/trust' }] })],
    });
    const path = `/var/lib/kubelet/pods/${pod.metadata?.uid}/volumes/kubernetes.io~projected/trust`;
    return () => world.node.volumes.text(path, 'ca.pem');
  };
  const put = (world: ClusterWorld, text: string): void => {
    const metadata = { name: 'example.com:s:1' };
    const spec = { signerName: 'example.com/s', trustBundle: pem(text) };
    const known = world.api.objects.get('clustertrustbundles', '', metadata.name);
    if (known === undefined) world.api.objects.create('clustertrustbundles', { metadata, spec });
    else world.api.objects.update('clustertrustbundles', { ...known, spec });
  };

  test('a pod waits for a bundle of its signer, and its file follows changes', async () => {
    const world = await start({});
    const text = runWith(world);
    await world.advance(3_000);
    expect(world.phase('web')).toBe('Pending');
    put(world, 'a');
    await world.advance(2_000);
    expect([world.phase('web'), text()]).toEqual(['Running', pem('a')]);
    put(world, 'b');
    await world.advance(2_000);
    expect(text()).toBe(pem('b'));
    expect(world.forbidden()).toEqual([]);
  });

  test('without the feature gate the pod waits, with an event', async () => {
    const world = await start({ ClusterTrustBundleProjection: false });
    runWith(world);
    put(world, 'a');
    await world.advance(3_000);
    expect(world.phase('web')).toBe('Pending');
    const events = world.api.objects.list('events', 'default').map(({ message }) => message);
    expect(events).toContain(
      'MountVolume.SetUp failed for volume "trust" : ClusterTrustBundle projection is not supported in static kubelet mode',
    );
  });
});
