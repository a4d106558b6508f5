// What a node with --autonomy cannot do while it is cut off, and what ends its pods: objects that are not kept, shutdowns, evictions,
// a runtime that is late, a disk that hangs, a change of the setting.
import { describe, expect, test } from 'vitest';
import type { ObjectMeta, PodSpec } from '../../../src/api/k8s/types.ts';
import { Duration } from '../../../src/config/duration.ts';
import { aContainer } from '../../builders/builders.ts';
import type { ClusterWorld } from '../../simulate/cluster-world.ts';
import {
  powerOff,
  rebootCutOff,
  recordsOf,
  running,
  start,
  uid,
  useObjects,
} from '../../simulate/cut-off-kit.ts';

/** What /explain and the events had about the pod within a minute. */
async function reasonsOf(world: ClusterWorld, name: string): Promise<string> {
  const found = new Set<string>();
  for (let second = 0; second < 60; second++) {
    await world.advance(1_000);
    found.add(world.node.explanation(uid(world, name)) ?? '');
  }
  return [...found, ...world.node.eventLines(uid(world, name))].join('\n');
}

function mounting(volume: NonNullable<PodSpec['volumes']>[number]): Partial<PodSpec> {
  return {
    serviceAccountName: 'default',
    volumes: [volume],
    containers: [aContainer({ volumeMounts: [{ name: volume.name, mountPath: '/v' }] })],
  };
}

/** A claim with its volume. */
function createClaim(
  world: ClusterWorld,
  name: string,
  source: object,
  ownerReferences: NonNullable<ObjectMeta['ownerReferences']> = [],
): void {
  const { objects } = world.api;
  const accessModes = ['ReadWriteOnce'];
  const { metadata } = objects.create('persistentvolumeclaims', {
    metadata: { name, namespace: 'default', ownerReferences },
    spec: { volumeName: 'pv1', accessModes },
  });
  objects.patch('persistentvolumeclaims', 'default', name, { status: { phase: 'Bound' } }, 'status');
  const claimRef = { namespace: 'default', name, uid: metadata?.uid ?? '' };
  objects.create('persistentvolumes', {
    metadata: { name: 'pv1' },
    spec: { capacity: { storage: '1Gi' }, accessModes, claimRef, ...source },
  });
}

test('switching off removes what was kept, so that a pod deleted meanwhile never starts', async () => {
  const world = await start();
  world.run('gone', useObjects());
  await world.advance(10_000);
  await world.node.kill();
  world.node.setFlags({ autonomy: 'Off' });
  await world.node.start();
  await world.advance(5_000);
  expect(world.node.keptFiles.size).toBe(0);
  world.delete('gone');
  await world.advance(60_000);
  world.node.setFlags({ autonomy: 'WithSecrets' });
  const starts = world.callCount('startContainer');
  await rebootCutOff(world);
  await world.advance(60_000);
  expect([world.callCount('startContainer'), running(world)]).toEqual([starts, []]);
});

describe('a graceful shutdown of the machine', () => {
  const second = 1_000_000_000n;
  const config = {
    shutdownGracePeriod: new Duration(20n * second),
    shutdownGracePeriodCriticalPods: new Duration(5n * second),
  };

  async function shutDown(world: ClusterWorld): Promise<void> {
    world.node.logind.prepare(true);
    await world.advance(40_000);
    expect(running(world)).toEqual([]);
    world.api.faults.goDown();
    await powerOff(world);
    world.node.logind.prepare(false);
    await world.node.start();
    await world.advance(10_000);
  }

  test('while the node is cut off ends no pod for good: they run after the boot', async () => {
    const world = await start('WithSecrets', { config });
    world.run('web', useObjects());
    await world.advance(10_000);
    world.api.faults.goDown();
    await world.advance(20_000);
    await shutDown(world);
    expect(running(world)).toHaveLength(1);
    const starts = world.callCount('startContainer');
    world.api.faults.comeUp();
    await world.advance(120_000);
    expect([world.ready('web'), world.callCount('startContainer')]).toEqual(['True', starts]);
  });

  test('whose statuses the API server received ends pods for good, also if the node boots while it is cut off', async () => {
    const world = await start('WithSecrets', { config });
    world.run('web', useObjects());
    await world.advance(10_000);
    const starts = world.callCount('startContainer');
    await shutDown(world);
    await world.advance(60_000);
    world.api.faults.comeUp();
    await world.advance(60_000);
    expect([world.phase('web'), world.callCount('startContainer')]).toEqual(['Failed', starts]);
  });
});

test('a pod that is evicted while the node is cut off stays over after a reboot, and is reported so on return', async () => {
  const world = await start();
  world.run('web');
  await world.advance(10_000);
  world.api.faults.goDown();
  await world.advance(20_000);
  const eviction = {
    reason: 'Evicted',
    message: 'The node was low on resource: memory.',
    evicted: true,
  } as const;
  void world.node.killPod(uid(world, 'web'), eviction).catch(() => undefined);
  await world.advance(60_000);
  await rebootCutOff(world);
  await world.advance(60_000);
  expect(running(world)).toEqual([]);
  world.api.faults.comeUp();
  await world.advance(60_000);
  expect([world.pod('web')?.status?.phase, world.pod('web')?.status?.reason]).toEqual(['Failed', 'Evicted']);
  expect(world.callCount('startContainer')).toBe(1);
});

test('kept pods run within ten seconds of a runtime that is ready late', async () => {
  const world = await start();
  world.run('web', useObjects());
  await world.advance(10_000);
  world.api.faults.goDown();
  await powerOff(world);
  world.node.cri.faults.goDown();
  await world.node.start();
  await world.advance(300_000);
  world.node.cri.faults.comeUp();
  await world.advance(10_000);
  expect(running(world)).toHaveLength(1);
});

describe('a disk that hangs', () => {
  test('delays no pod while the API server can be reached', async () => {
    const world = await start();
    world.node.keptFilesHang = () => true;
    world.run('web', useObjects());
    await world.advance(5_000);
    expect(world.ready('web')).toBe('True');
    world.delete('web', 1);
    await world.advance(10_000);
    expect(world.pod('web')).toBeUndefined();
  });

  test('delays the boot by a bounded time, and then only the pods whose objects it does not return', async () => {
    const world = await start();
    world.run('web', useObjects());
    world.run('plain');
    await world.advance(10_000);
    world.api.faults.goDown();
    await powerOff(world);
    await world.node.start();
    world.node.keptFilesHang = (path) => path.includes('/secrets/');
    await world.advance(60_000);
    expect(running(world)).toHaveLength(1);
    expect(await reasonsOf(world, 'web')).toContain('reading a kept object');
    world.node.keptFilesHang = () => false;
    await world.advance(180_000);
    expect(running(world)).toHaveLength(2);
  });

  test('that returns nothing at the boot leaves the pods to the API server', async () => {
    const world = await start();
    world.run('web');
    await world.advance(10_000);
    world.api.faults.goDown();
    await powerOff(world);
    world.node.keptFilesHang = () => true;
    const started = world.node.start();
    await world.advance(30_000);
    await started;
    expect(running(world)).toEqual([]);
    world.api.faults.comeUp();
    await world.advance(60_000);
    expect(world.ready('web')).toBe('True');
  });
});

test('without secrets, a pod whose image is present needs no pull secret, and runs', async () => {
  const world = await start('WithoutSecrets');
  world.run('web', { imagePullSecrets: [{ name: 'cred' }] });
  await world.advance(10_000);
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(1);
});

test('a runtime class and the claim of an ephemeral volume are kept', async () => {
  const world = await start('WithoutSecrets');
  world.api.objects.create('runtimeclasses', { metadata: { name: 'plain' }, handler: 'runc' });
  const pod = world.run('web', {
    runtimeClassName: 'plain',
    ...mounting({ name: 'data', ephemeral: { volumeClaimTemplate: { spec: {} } } }),
  });
  const [apiVersion, kind, owner] = ['v1', 'Pod', { name: 'web', uid: pod.metadata?.uid ?? '' }];
  createClaim(world, 'web-data', { hostPath: { path: '/data' } }, [
    { apiVersion, kind, ...owner, controller: true },
  ]);
  await world.advance(150_000);
  expect(world.ready('web')).toBe('True');
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(1);
});

describe('what is not kept keeps only its own pods from running, with the reason:', () => {
  const cutOff = 'the API server is not reachable';

  test('a bundle of trust anchors', async () => {
    const world = await start();
    const bundle = { metadata: { name: 'roots' }, spec: { trustBundle: '' } };
    world.api.objects.create('clustertrustbundles', bundle);
    const source = { clusterTrustBundle: { name: 'roots', path: 'ca.pem', optional: true } };
    world.run('web', mounting({ name: 'v', projected: { sources: [source] } }));
    world.run('plain');
    await world.advance(10_000);
    expect(world.ready('web')).toBe('True');
    await rebootCutOff(world);
    const reasons = await reasonsOf(world, 'web');
    expect(reasons).toContain(`failed to determine which informer manager to choose: ${cutOff}`);
    expect(running(world)).toHaveLength(1);
    world.api.faults.comeUp();
    await world.advance(150_000);
    expect([world.ready('web'), world.ready('plain')]).toEqual(['True', 'True']);
  });

  test('a certificate of the pod', async () => {
    const world = await start('WithSecrets', { podSigner: { decide: () => 'issue' } });
    const source = { signerName: 'example.com/s', keyType: 'ECDSAP256', credentialBundlePath: 'bundle.pem' };
    world.run('web', mounting({ name: 'v', projected: { sources: [{ podCertificate: source }] } }));
    world.run('plain');
    await world.advance(10_000);
    expect(world.ready('web')).toBe('True');
    await rebootCutOff(world);
    expect(await reasonsOf(world, 'web')).toContain(cutOff);
    expect(running(world)).toHaveLength(1);
    world.api.faults.comeUp();
    await world.advance(150_000);
    expect([world.ready('web'), world.ready('plain')]).toEqual(['True', 'True']);
  });

  async function startWithDisk(attachRequired: boolean): Promise<ClusterWorld> {
    const world = await start();
    const endpoint = '/plugins/disk/csi.sock';
    const driver = world.node.csi.add('disk', {}, endpoint);
    driver.onWork = (method, path) => {
      if (method === 'publish') world.node.volumes.entries.set(path, 'directory');
    };
    world.node.registrars.add('/var/lib/kubelet/plugins_registry/disk-reg.sock', { name: 'disk', endpoint });
    world.api.objects.create('csidrivers', { metadata: { name: 'disk' }, spec: { attachRequired } });
    createClaim(world, 'data', { csi: { driver: 'disk', volumeHandle: 'h1' } });
    world.run('db', mounting({ name: 'data', persistentVolumeClaim: { claimName: 'data' } }));
    world.run('plain');
    await world.advance(20_000);
    return world;
  }

  test('nothing of a CSI volume that needs no attachment', async () => {
    const world = await startWithDisk(false);
    expect(world.ready('db')).toBe('True');
    await rebootCutOff(world);
    expect(running(world)).toHaveLength(2);
  });

  test('the attachment of a volume, also if the kept Node object has it', async () => {
    const world = await startWithDisk(true);
    const attached = [{ name: 'kubernetes.io/csi/disk^h1', devicePath: '' }];
    world.api.objects.patch('nodes', '', 'n', { status: { volumesAttached: attached } }, 'status');
    await world.advance(5_000);
    const [nodes] = recordsOf(world, 'collections').filter(([, text]) => text.includes('"key":"nodes"'));
    expect(nodes?.[1]).toContain('disk^h1');
    await rebootCutOff(world);
    const reasons = await reasonsOf(world, 'db');
    expect(reasons).toContain('volume data waits for the node status to report it in use');
    expect(reasons).toContain(cutOff);
    expect(running(world)).toHaveLength(1);
  });
});

test('services of a namespace are kept as soon as a pod runs in it', async () => {
  const world = await start();
  const { objects } = world.api;
  objects.create('namespaces', { metadata: { name: 'team' } });
  objects.create('services', {
    metadata: { name: 'db', namespace: 'team' },
    spec: { clusterIP: '10.0.0.9', ports: [{ port: 5432, protocol: 'TCP' }] },
  });
  world.run('other');
  await world.advance(20_000);
  world.run('web', { namespace: 'team' });
  await world.advance(2_000);
  await rebootCutOff(world);
  const hosts = running(world).map((id) => world.node.cri.container(id).env.get('DB_SERVICE_HOST'));
  expect(hosts.filter((host) => host !== undefined)).toEqual(['10.0.0.9']);
  expect(hosts).toHaveLength(2);
});

for (const strategy of ['Watch', 'Cache', 'Get'] as const)
  test(`objects are kept with configMapAndSecretChangeDetectionStrategy ${strategy}`, async () => {
    const world = await start('WithSecrets', {
      config: { configMapAndSecretChangeDetectionStrategy: strategy },
    });
    world.run('web', useObjects());
    await world.advance(10_000);
    await rebootCutOff(world);
    expect(running(world)).toHaveLength(1);
  });

test('switching on keeps the pods that run already', async () => {
  const world = await start('Off');
  createClaim(world, 'data', { hostPath: { path: '/data' } });
  world.run('web', useObjects());
  world.run('db', mounting({ name: 'data', persistentVolumeClaim: { claimName: 'data' } }));
  await world.advance(10_000);
  const before = running(world);
  await world.node.kill();
  world.node.setFlags({ autonomy: 'WithSecrets' });
  await world.node.start();
  await world.advance(120_000);
  expect(running(world)).toEqual(before);
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(2);
});
