import { beforeEach, describe, expect, test } from 'vitest';
import { CsiWorld } from '../../test/simulate/csi-world.ts';
import type { CsiNodeStartup } from './csi-node-startup.ts';

describe('CsiNodeStartup', () => {
  let world: CsiWorld;
  let startup: CsiNodeStartup;
  let changes: number;

  beforeEach(() => {
    world = new CsiWorld();
    startup = world.startup();
    changes = 0;
    startup.changed.subscribe(() => {
      changes += 1;
    });
  });

  test('CSINode is created as soon as the Node exists', async () => {
    await world.start(startup);
    expect(startup.problems()).toEqual(['CSINode is not yet initialized']);
    expect(world.double.requestLines()).toEqual(['get csinodes n']);
    const { metadata } = world.createNode();
    await world.clock.settle();
    expect([startup.problems(), changes]).toEqual([[], 1]);
    expect(world.csiNode()).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'Node', uid: metadata?.uid }] },
      spec: { drivers: null },
    });
    expect(world.clock.monotonic()).toBe(0);
  });

  test('an existing object is kept; heartbeats of the Node request nothing', async () => {
    const node = world.createNode();
    await world.start(world.registry);
    await world.registerNow(world.dialer.add('disk'));
    const before = world.csiNode();
    await world.start(startup);
    expect(startup.problems()).toEqual([]);
    expect(world.csiNode()).toEqual(before);
    const requests = world.double.requests.length;
    for (let beat = 0; beat < 10; beat++) world.own.upsert(node);
    await world.clock.advance(60_000);
    expect(world.double.requests).toHaveLength(requests);
  });

  test('polls every second until the API server responds', async () => {
    world.createNode();
    world.double.faults.goDown();
    await world.start(startup);
    await world.clock.advance(10_500);
    expect(startup.problems()).toEqual(['CSINode is not yet initialized']);
    world.double.faults.comeUp();
    await world.clock.advance(500);
    expect(startup.problems()).toEqual([]);
  });

  test('retries indefinitely, with the error as the reason', async () => {
    world.createNode();
    const fault = world.double.faults.fail(
      { verb: 'create', resource: 'csinodes' },
      { code: 500, message: 'etcd is full', times: Number.POSITIVE_INFINITY },
    );
    await world.start(startup);
    await world.clock.advance(600_000);
    expect(startup.problems()).toEqual([
      'failed to initialize CSINode: error updating CSINode annotation: timed out waiting for the condition; caused by: etcd is full',
    ]);
    const attempts = world.double.requestLines().filter((line) => line === 'create csinodes').length;
    expect(attempts).toBeGreaterThan(40);
    expect(attempts).toBeLessThan(200);
    fault.remove();
    await world.clock.advance(40_000);
    expect(startup.problems()).toEqual([]);
  });

  test('an object of an earlier Node is replaced', async () => {
    world.createNode();
    await world.start(world.registry);
    await world.registerNow(world.dialer.add('disk'));
    world.double.objects.delete('nodes', '', 'n');
    const { metadata } = world.createNode();
    await world.start(startup);
    await world.clock.advance(1_000);
    expect(world.csiNode()?.metadata?.ownerReferences?.[0]?.uid).toBe(metadata?.uid);
    expect(world.entries()).toEqual([]);
  });

  test('a Node that is created again while the kubelet runs gets CSINode and its drivers again', async () => {
    world.createNode();
    await world.start(world.registry, startup);
    await world.registerNow(world.dialer.add('disk'));
    world.double.objects.delete('nodes', '', 'n');
    world.double.objects.delete('csinodes', '', 'n');
    world.createNode();
    await world.clock.advance(1_000);
    expect([world.entries(), world.nodeIds()]).toEqual([['disk node-1 [] -'], '{"disk":"node-1"}']);
    expect(startup.problems()).toEqual([]);
  });
});
