// CSI drivers that register with a whole kubelet: CSINode, the node's readiness, upgrades, restarts, outages of the API server.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CSINode } from '../../../src/api/k8s/types.ts';
import { ClusterWorld, readyOf, startCluster } from '../../simulate/cluster-world.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

const registry = '/var/lib/kubelet/plugins_registry';
const socket = `${registry}/disk-reg.sock`;

function csiNode(world: ClusterWorld): CSINode | undefined {
  return world.api.objects.get('csinodes', '', 'n');
}

function entries(world: ClusterWorld): readonly string[] {
  return (csiNode(world)?.spec.drivers ?? []).map(({ name, nodeID }) => `${name} ${nodeID}`);
}

function ready(world: ClusterWorld): string | undefined {
  return readyOf(world.nodeObject()?.status);
}

function readyMessage(world: ClusterWorld): string | undefined {
  return world.nodeObject()?.status?.conditions?.find(({ type }) => type === 'Ready')?.message;
}

/** A driver's process, and its registrar. */
function install(world: ClusterWorld, name = 'disk', at = socket, endpoint = `/plugins/${name}/csi.sock`) {
  const driver = world.node.csi.add(name, {}, endpoint);
  world.node.registrars.add(at, { name, endpoint });
  return driver;
}

function outcome(world: ClusterWorld, at = socket): string | undefined {
  return world.node.registrars.outcome(at);
}

describe('registration', () => {
  test('publishes a driver whose socket appears, and removes it when the socket goes', async () => {
    const world = await startCluster();
    install(world);
    await world.advance(0);
    expect([outcome(world), entries(world)]).toEqual(['registered', ['disk node-1']]);
    expect(world.nodeObject()?.metadata?.annotations?.['csi.volume.kubernetes.io/nodeid']).toBe(
      '{"disk":"node-1"}',
    );
    world.node.registrars.remove(socket);
    await world.advance(0);
    expect(entries(world)).toEqual([]);
    expect(world.forbidden()).toEqual([]);
  });

  test('the registrar is notified why it failed, and the kubelet retries with backoff', async () => {
    const world = await startCluster();
    const driver = world.node.csi.add('disk');
    driver.fail('info', { code: 'FAILED_PRECONDITION', message: 'not yet', times: 3 });
    world.node.registrars.add(socket, driver);
    await world.advance(0);
    expect(outcome(world)).toBe(
      'RegisterPlugin error -- plugin registration failed with err: rpc error: code = FailedPrecondition desc = not yet',
    );
    await world.advance(60_000);
    expect([outcome(world), entries(world)]).toEqual(['registered', ['disk node-1']]);
  });

  test('is retried after an outage of the API server', async () => {
    const world = await startCluster();
    world.api.faults.goDown();
    install(world);
    await world.advance(30_000);
    expect(outcome(world)).toContain('error updating Node object with CSI driver node info');
    world.api.faults.comeUp();
    await world.advance(122_000);
    expect([outcome(world), entries(world)]).toEqual(['registered', ['disk node-1']]);
  });

  test('rejects a driver without a supported version', async () => {
    const world = await startCluster();
    world.node.registrars.add(socket, { name: 'disk', endpoint: '/p.sock', supportedVersions: ['0.3.0'] });
    await world.advance(0);
    expect(outcome(world)).toBe(
      'RegisterPlugin error -- plugin validation failed with err: validation failed for CSI Driver disk at endpoint /p.sock: kubernetes.io/csi: ValidatePlugin for CSI driver "disk" failed. None of the versions specified ["0.3.0"] are supported. err=highest supported version reported is 0.3.0, must be v1.x',
    );
  });

  test('an upgrade in place: the new socket registers first, then the old one goes', async () => {
    const world = await startCluster();
    install(world);
    await world.advance(0);
    const next = `${registry}/disk-2-reg.sock`;
    install(world, 'disk', next, '/plugins/disk-2/csi.sock').info = {
      nodeId: 'node-1',
      maxVolumesPerNode: 9n,
      accessibleTopology: undefined,
    };
    await world.advance(0);
    expect(outcome(world, next)).toBe('registered');
    world.node.registrars.remove(socket);
    await world.advance(1_000);
    expect(csiNode(world)?.spec.drivers).toMatchObject([{ name: 'disk', allocatable: { count: 9 } }]);
  });

  test('five drivers at the start are all published', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const world = await startCluster({}, (prepared) => {
      for (const name of names) install(prepared, name, `${registry}/${name}-reg.sock`);
    });
    expect(entries(world).toSorted()).toEqual(names.map((name) => `${name} node-1`));
  });

  test('a restart of the kubelet writes nothing, and a driver that is slow to respond keeps its entry', async () => {
    const world = await startCluster();
    const driver = install(world);
    await world.advance(0);
    const before = csiNode(world);
    await world.node.kill();
    driver.fail('info', { code: 'UNAVAILABLE', times: 4 });
    await world.node.start();
    await world.advance(1_000);
    expect(csiNode(world)).toEqual(before);
    await world.advance(60_000);
    expect([outcome(world), csiNode(world)]).toEqual(['registered', before]);
  });

  test('the limit is refreshed as CSIDriver requests', async () => {
    const world = await startCluster();
    const spec = { nodeAllocatableUpdatePeriodSeconds: 30 };
    world.api.objects.create('csidrivers', { metadata: { name: 'disk' }, spec });
    const driver = install(world);
    await world.advance(1_000);
    driver.info = { ...driver.info, maxVolumesPerNode: 4n };
    await world.advance(30_000);
    expect(csiNode(world)?.spec.drivers[0]?.allocatable?.count).toBe(4);
  });
});

describe('the Ready condition', () => {
  async function started(
    options: ConstructorParameters<typeof ClusterWorld>[0] = {},
    prepare: (world: ClusterWorld) => void = () => undefined,
  ) {
    const world = new ClusterWorld(options);
    onTestFinished(() => world.close());
    prepare(world);
    await world.node.start();
    await world.advance(1_000);
    return world;
  }

  test('waits for CSINode, with the reason, and turns True at once', async () => {
    const undo: { remove(): void }[] = [];
    const world = await started({}, ({ api }) => {
      const fault = { code: 500, message: 'etcd is full', times: Number.POSITIVE_INFINITY };
      undo.push(api.faults.fail({ verb: 'create', resource: 'csinodes' }, fault));
    });
    await world.advance(60_000);
    expect([ready(world), readyMessage(world)]).toEqual([
      'False',
      'failed to initialize CSINode: error updating CSINode annotation: timed out waiting for the condition; caused by: etcd is full',
    ]);
    undo[0]?.remove();
    await world.advance(30_000);
    expect([ready(world), csiNode(world)?.metadata?.name]).toEqual(['True', 'n']);
  });

  test('a new node is Ready three round trips after it was created: GETs, POST of CSINode, status', async () => {
    const roundTripMs = 20;
    const world = new ClusterWorld();
    onTestFinished(() => world.close());
    world.api.faults.slow({}, roundTripMs);
    await world.node.start();
    const startMs = world.node.clock.monotonic();
    let createdMs = 0;
    while (ready(world) !== 'True' && world.node.clock.monotonic() - startMs < 10_000) {
      await world.advance(5);
      if (world.nodeObject() !== undefined && createdMs === 0) createdMs = world.node.clock.monotonic();
    }
    expect(world.node.clock.monotonic() - createdMs).toBeLessThanOrEqual(3 * roundTripMs + 5);
  });

  test('is not withdrawn by a restart of the kubelet, even with the API server slow', async () => {
    const world = await started();
    expect(ready(world)).toBe('True');
    const seen: (string | undefined)[] = [];
    const slow = world.api.faults.slow({ resource: 'csinodes' }, 5_000);
    await world.node.kill();
    await world.node.start();
    for (let at = 0; at < 100; at++) {
      await world.advance(100);
      seen.push(ready(world));
    }
    slow.remove();
    expect(new Set(seen)).toEqual(new Set(['True']));
  });

  const required = { readyRequiresCsiDrivers: ['disk'], readyRequiresDevicePlugins: ['example.com/gpu'] };

  test('waits for required plugins, each named, and turns True at once when they have registered', async () => {
    const world = await started({ flags: required });
    expect([ready(world), readyMessage(world)]).toEqual([
      'False',
      '[waiting for CSI driver disk to register, waiting for device plugin example.com/gpu to register]',
    ]);
    install(world);
    await world.advance(0);
    expect(readyMessage(world)).toBe('waiting for device plugin example.com/gpu to register');
  });

  test('the loss of a required driver after the node was Ready does not matter, nor does a restart without it', async () => {
    const world = await started({ flags: { readyRequiresCsiDrivers: ['disk'] } }, install);
    expect(ready(world)).toBe('True');
    world.node.registrars.remove(socket);
    await world.advance(60_000);
    expect([ready(world), entries(world)]).toEqual(['True', []]);
    world.node.cri.setCondition('RuntimeReady', false);
    await world.advance(60_000);
    expect(ready(world)).toBe('False');
    world.node.cri.setCondition('RuntimeReady', true);
    await world.advance(10_000);
    expect(ready(world)).toBe('True');
    await world.node.kill();
    await world.node.start();
    await world.advance(60_000);
    expect(ready(world)).toBe('True');
  });
});

test('a standalone node has no CSINode, and rejects drivers with the reason', async () => {
  const node = new FakeNode();
  onTestFinished(() => node.stop());
  const { endpoint } = node.csi.add('disk');
  await node.start();
  node.registrars.add(socket, { name: 'disk', endpoint });
  await node.clock.advance(0);
  expect(node.registrars.outcome(socket)).toContain('error getting kube client');
});
