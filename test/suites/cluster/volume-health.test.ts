// The health of CSI volumes and of their storage, with a whole kubelet: from the driver to the pod's status and to CSINode.
import { expect, test } from 'vitest';
import type { CSINode, Pod } from '../../../src/api/k8s/types.ts';
import { aContainer } from '../../builders/builders.ts';
import type { FakeCsiDriver } from '../../fakes/fake-csi-drivers.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';

const registry = '/var/lib/kubelet/plugins_registry';
const on = { gates: { CSIVolumeHealth: true }, server: { gates: { CSIVolumeHealth: true } } };
const minuteMs = 66_000;
const capabilities = { stage: true, volumeHealth: true, storageHealth: true };

/** A driver that registers, and mounts in the kubelet's file system. */
function install(world: ClusterWorld): FakeCsiDriver {
  const { csi, registrars, volumes } = world.node;
  const driver = csi.add('disk', capabilities);
  driver.onWork = async (method, path) => {
    if (method === 'unstage' || method === 'unpublish') {
      await volumes.unmount(path);
      await volumes.removeEmpty(path);
      return;
    }
    await volumes.makeDirectory(path);
    await volumes.bind('/dev/disk', path, { readOnly: false });
  };
  registrars.add(`${registry}/disk-reg.sock`, { name: 'disk', endpoint: driver.endpoint });
  return driver;
}

function provision({ api }: ClusterWorld): void {
  const claimRef = { namespace: 'default', name: 'claim', uid: '' };
  const claim = api.objects.create('persistentvolumeclaims', {
    metadata: {
      name: 'claim',
      namespace: 'default',
      finalizers: ['kubernetes.io/pvc-protection'],
    },
    spec: { volumeName: 'pv', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  const status = { phase: 'Bound', capacity: { storage: '1Gi' } };
  api.objects.patch('persistentvolumeclaims', 'default', 'claim', { status }, 'status');
  api.objects.create('persistentvolumes', {
    metadata: { name: 'pv' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      claimRef: { ...claimRef, uid: claim.metadata?.uid ?? '' },
      csi: { driver: 'disk', volumeHandle: 'vol-1' },
    },
  });
  api.objects.create('csidrivers', { metadata: { name: 'disk' }, spec: { attachRequired: false } });
}

function runPod(world: ClusterWorld): Pod {
  return world.run('db', {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'claim' } }],
    containers: [aContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
  });
}

function degrade(driver: FakeCsiDriver, ...reasons: readonly string[]): void {
  driver.volumeHealth.set('vol-1', {
    volumeId: 'vol-1',
    healthStatuses: reasons.map((reason) => ({ status: 2 as const, reason, message: 'm'.repeat(5_000) })),
  });
}

const healthOf = (world: ClusterWorld) => world.pod('db')?.status?.volumeHealth;
const csiNode = (world: ClusterWorld): CSINode | undefined => world.api.objects.get('csinodes', '', 'n');

test('the health of a volume reaches the status of its pod, and its recovery', async () => {
  const world = await startCluster(on);
  const driver = install(world);
  provision(world);
  runPod(world);
  await world.advance(5_000);
  expect(world.phase('db')).toBe('Running');
  expect(healthOf(world)).toBeUndefined();
  degrade(driver, 'PathDown', 'PathDown', 'not a reason');
  await world.advance(minuteMs);
  const reported = healthOf(world);
  expect(reported).toEqual([
    {
      name: 'data',
      healthConditions: [
        { status: 'Inaccessible', reason: 'PathDown', message: 'm'.repeat(1_024) },
        { status: 'Inaccessible', reason: 'InvalidReason', message: 'm'.repeat(1_024) },
      ],
      lastTransitionTime: expect.any(String),
    },
  ]);
  await world.node.stop();
  await world.node.start();
  await world.advance(3 * minuteMs);
  expect(healthOf(world)).toEqual(reported);
  degrade(driver);
  await world.advance(minuteMs);
  expect(healthOf(world)).toEqual([{ name: 'data', lastTransitionTime: expect.any(String) }]);
  expect(world.phase('db')).toBe('Running');
  expect(world.forbidden()).toEqual([]);
});

test('a volume that the driver cannot mount is reported, too', async () => {
  const world = await startCluster(on);
  const driver = install(world);
  driver.fail('publish', { code: 'INTERNAL', message: 'no path' });
  degrade(driver, 'PathDown');
  provision(world);
  runPod(world);
  await world.advance(2 * minuteMs);
  expect(world.phase('db')).toBe('Pending');
  expect(healthOf(world)).toMatchObject([{ name: 'data', healthConditions: [{ reason: 'PathDown' }] }]);
  expect(driver.callsOf('volumeHealth').at(-1)?.request).toMatchObject({
    volumeId: 'vol-1',
    stagingTargetPath: expect.stringContaining('/globalmount'),
  });
});

test('the health of storage reaches CSINode, is withdrawn with the driver, and costs no requests', async () => {
  const world = await startCluster(on);
  const driver = install(world);
  const degraded = { status: 2 as const, reason: 'NoRoute', message: 'gone', volumeCapability: undefined };
  driver.storageHealth = { backendHealth: [degraded] };
  await world.advance(minuteMs);
  const condition = {
    status: 'StorageUnreachable',
    reason: 'NoRoute',
    message: 'gone',
    lastTransitionTime: expect.any(String),
  };
  expect(csiNode(world)?.status).toEqual({
    storageHealth: [{ name: 'disk', healthConditions: [condition] }],
  });
  const requests = (): number => world.api.requestLines().filter((line) => line.includes('csinodes')).length;
  const before = requests();
  await world.advance(5 * minuteMs);
  expect(requests()).toBe(before);
  world.node.registrars.remove(`${registry}/disk-reg.sock`);
  await world.advance(2 * minuteMs);
  expect(csiNode(world)?.status?.storageHealth ?? []).toEqual([]);
  expect(world.forbidden()).toEqual([]);
});

test('an API server without the gate refuses the health of storage, which is logged and changes nothing else', async () => {
  const world = await startCluster({ gates: on.gates });
  const driver = install(world);
  driver.storageHealth = {
    backendHealth: [{ status: 1, reason: 'Slow', message: '', volumeCapability: undefined }],
  };
  await world.advance(2 * minuteMs);
  expect(world.node.logged('Failed to update CSINode storage health').length).toBeGreaterThan(0);
  expect(csiNode(world)?.spec.drivers).toHaveLength(1);
});

test('without the gate a driver receives no such call', async () => {
  const world = await startCluster({ server: on.server });
  const driver = install(world);
  provision(world);
  runPod(world);
  await world.advance(5 * minuteMs);
  expect(world.phase('db')).toBe('Running');
  expect([driver.callsOf('volumeHealth'), driver.callsOf('storageHealth')]).toEqual([[], []]);
});
