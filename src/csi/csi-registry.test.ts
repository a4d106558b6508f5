// Registration against the API server double, as a node: what Node and CSINode have, and what the registrar is notified of.
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { FakeCsiDriver, FakeCsiDrivers } from '../../test/fakes/fake-csi-drivers.ts';
import { CsiWorld } from '../../test/simulate/csi-world.ts';
import { silentLogger } from '../base/log/log.ts';
import { RegisteredDrivers } from './csi-registry.ts';

describe('RegisteredDrivers', () => {
  let world: CsiWorld;
  let disk: FakeCsiDriver;

  beforeEach(async () => {
    world = new CsiWorld();
    world.createNode();
    disk = world.dialer.add('disk');
    disk.info = {
      nodeId: 'i-1',
      maxVolumesPerNode: 39n,
      accessibleTopology: { segments: { 'example.com/zone': 'a', 'example.com/rack': 'r1' } },
    };
    await world.start(world.registry);
  });

  /** The same driver at another socket, as a rolling update of its DaemonSet leaves it. */
  function upgraded(changes: Partial<FakeCsiDriver['info']> = {}): FakeCsiDriver {
    const next = world.dialer.add('disk', {}, '/plugins/disk-2/csi.sock');
    next.info = { ...disk.info, ...changes };
    return next;
  }

  /** Its answers to NodeGetInfo wait until the returned function is called. */
  function holdInfo(driver: FakeCsiDriver): () => void {
    const answer = driver.info;
    let release: () => void = () => undefined;
    const held = new Promise<FakeCsiDriver['info']>((resolve) => {
      release = () => resolve(answer);
    });
    Object.defineProperty(driver, 'info', { get: () => held });
    return release;
  }

  describe('a driver', () => {
    test('is published in Node and CSINode, and serves', async () => {
      expect(await world.registerNow(disk)).toBe('registered');
      expect(world.entries()).toEqual(['disk i-1 [example.com/rack example.com/zone] 39']);
      expect(world.nodeIds()).toBe('{"disk":"i-1"}');
      expect(world.labels()).toMatchObject({ 'example.com/zone': 'a', 'example.com/rack': 'r1' });
      expect(world.csiNode()?.metadata?.ownerReferences?.[0]).toMatchObject({ kind: 'Node', name: 'n' });
      expect(world.registry.get('disk')?.endpoint).toBe(disk.endpoint);
      expect([world.registry.names(), world.registry.isRegistered('disk')]).toEqual([['disk'], true]);
      expect(world.double.requests.filter(({ code }) => code === 403)).toEqual([]);
    });

    test('serves its volumes already while it registers, but does not count as registered', async () => {
      disk.fail('info', { code: 'hang' });
      const outcome = world.register(disk);
      await world.clock.settle();
      expect(world.registry.get('disk')).toBeDefined();
      expect(world.registry.isRegistered('disk')).toBe(false);
      await world.clock.until(outcome);
      expect(world.registry.get('disk')).toBeUndefined();
    });

    test('nothing is written again if nothing has changed', async () => {
      await world.registerNow(disk);
      const before = world.writes().length;
      world.restart();
      expect(await world.registerNow(disk)).toBe('registered');
      expect(world.writes()).toHaveLength(before);
    });

    test('that goes is removed from CSINode and the annotation; the labels and CSINode stay', async () => {
      await world.registerNow(disk);
      const client = world.registry.get('disk');
      await world.clock.until(world.registry.deregister({ name: 'disk', endpoint: disk.endpoint }));
      expect([world.entries(), world.nodeIds()]).toEqual([[], undefined]);
      expect(world.labels()).toMatchObject({ 'example.com/zone': 'a' });
      expect([world.registry.get('disk'), world.registry.names()]).toEqual([undefined, []]);
      expect(world.announced.at(-1)).toBe('disk');
      expect(client).toBeDefined();
    });

    test('may finish the calls in flight after its socket has gone', async () => {
      await world.registerNow(disk);
      disk.fail('stats', { code: 'hang' });
      const stats = world.registry
        .get('disk')
        ?.stats({ volumeId: 'v', volumePath: '/x', stagingTargetPath: '' }, new AbortController().signal);
      const outcome = stats?.catch((err: unknown) => String(err));
      await world.clock.until(world.registry.deregister({ name: 'disk', endpoint: disk.endpoint }));
      await world.clock.advance(60_000);
      expect(disk.active).toBe(1);
      await world.clock.advance(120_000);
      expect(await outcome).toContain('closed');
    });

    test('that is not registered is not deregistered', async () => {
      await world.registerNow(disk);
      const before = world.writes().length;
      await world.registry.deregister({ name: 'disk', endpoint: '/other.sock' });
      await world.registry.deregister({ name: 'other', endpoint: disk.endpoint });
      expect(world.writes()).toHaveLength(before);
      expect(world.registry.isRegistered('disk')).toBe(true);
    });

    test('with another node ID replaces its entry, although the API server rejects the change', async () => {
      await world.registerNow(disk);
      disk.info = { ...disk.info, nodeId: 'i-2' };
      world.restart();
      expect(await world.registerNow(disk)).toBe('registered');
      expect([world.entries()[0], world.nodeIds()]).toEqual([
        'disk i-2 [example.com/rack example.com/zone] 39',
        '{"disk":"i-2"}',
      ]);
    });

    test('whose CSINode belonged to another Node gets a new one', async () => {
      await world.registerNow(disk);
      const before = world.csiNode()?.metadata?.uid;
      world.double.objects.delete('nodes', '', 'n');
      world.createNode();
      world.restart();
      expect(await world.registerNow(disk)).toBe('registered');
      expect(world.csiNode()?.metadata?.uid).not.toBe(before);
      expect(world.entries()).toHaveLength(1);
    });
  });

  describe('a registration that fails', () => {
    test('because of a label with another value writes nothing, and the registrar is notified', async () => {
      world.double.objects.patch('nodes', '', 'n', { metadata: { labels: { 'example.com/zone': 'b' } } });
      expect(await world.registerNow(disk)).toBe(
        'error updating Node object with CSI driver node info: error updating node: timed out waiting for the condition; caused by: detected topology value collision: driver reported "example.com/zone":"a" but existing label is "example.com/zone":"b"',
      );
      expect([world.entries(), world.nodeIds(), world.registry.names()]).toEqual([[], undefined, []]);
      expect(world.labels()).not.toHaveProperty('example.com/rack');
    });

    test('because of an empty node ID', async () => {
      disk.info = { ...disk.info, nodeId: '' };
      expect(await world.registerNow(disk)).toBe(
        'error adding CSI driver node info: driverNodeID must not be empty',
      );
      expect(world.registry.get('disk')).toBeUndefined();
    });

    test('because the API server is unreachable leaves nothing, and the next one succeeds', async () => {
      world.double.faults.goDown();
      const outcome = await world.registerNow(disk);
      expect(outcome).toContain('error updating Node object with CSI driver node info: error updating node');
      expect(outcome).toContain('ECONNREFUSED');
      expect(world.registry.names()).toEqual([]);
      world.double.faults.comeUp();
      expect(await world.registerNow(disk)).toBe('registered');
    });

    test('halfway is undone', async () => {
      world.double.faults.fail({ verb: 'create', resource: 'csinodes' }, { code: 500, times: 4 });
      const outcome = await world.registerNow(disk);
      expect(outcome).toContain(
        'error updating CSINode object with CSI driver node info: error updating CSINode',
      );
      expect([world.nodeIds(), world.entries()]).toEqual([undefined, []]);
    });

    test('a conflict is retried with the current object', async () => {
      await world.registerNow(world.dialer.add('other'));
      world.double.faults.fail({ verb: 'update', resource: 'csinodes' }, { code: 409, times: 3 });
      const startMs = world.clock.monotonic();
      expect(await world.registerNow(disk)).toBe('registered');
      expect(world.clock.monotonic() - startMs).toBe(10 + 50 + 250);
      expect(world.entries()).toHaveLength(2);
    });

    test('a write whose response is lost is done', async () => {
      world.double.faults.fail({ verb: 'patch', resource: 'nodes' }, { code: 500, times: 1, when: 'after' });
      world.double.faults.fail(
        { verb: 'create', resource: 'csinodes' },
        { code: 500, times: 1, when: 'after' },
      );
      expect(await world.registerNow(disk)).toBe('registered');
      expect(world.entries()).toHaveLength(1);
    });

    test('a driver that hangs in NodeGetInfo is given up, and delays no other', async () => {
      disk.fail('info', { code: 'hang' });
      const hanging = world.register(disk);
      expect(await world.registerNow(world.dialer.add('other'))).toBe('registered');
      expect(world.clock.monotonic()).toBeLessThan(1_000);
      expect(await world.clock.until(hanging)).toContain('NodeGetInfo did not finish within');
      expect(world.clock.monotonic()).toBeLessThan(180_000);
      expect(world.registry.names()).toEqual(['other']);
    });

    test('is cancelled with its signal', async () => {
      disk.fail('info', { code: 'hang' });
      const abort = new AbortController();
      const outcome = world.register(disk, abort.signal);
      await world.clock.settle();
      abort.abort(new Error('socket is gone'));
      expect(await world.clock.until(outcome)).toContain('socket is gone');
      expect(world.registry.names()).toEqual([]);
    });

    for (const [name, code] of [
      ['does not respond', 'hang'],
      ['is not ready', 'FAILED_PRECONDITION'],
      ['is unreachable', 'UNAVAILABLE'],
    ] as const)
      test(`after a restart keeps the entry in CSINode if the driver ${name}`, async () => {
        await world.registerNow(disk);
        world.restart();
        disk.fail('info', { code, times: 1 });
        expect(await world.registerNow(disk)).not.toBe('registered');
        expect([world.entries().length, world.nodeIds()]).toEqual([1, '{"disk":"i-1"}']);
        expect(await world.registerNow(disk)).toBe('registered');
      });

    test('after a restart removes an entry that the driver contradicts', async () => {
      await world.registerNow(disk);
      world.restart();
      disk.info = { ...disk.info, nodeId: '' };
      await world.registerNow(disk);
      expect([world.entries(), world.nodeIds()]).toEqual([[], undefined]);
    });

    test('a standalone node registers none', async () => {
      const clock = new FakeClock();
      const dialer = new FakeCsiDrivers();
      const registry = new RegisteredDrivers({ dialer, nodeInfo: undefined, clock, log: silentLogger });
      const driver = { name: 'd', endpoint: dialer.add('d').endpoint, versions: ['1.0.0'] };
      await expect(registry.register(driver, new AbortController().signal)).rejects.toThrow(
        'error getting kube client',
      );
    });
  });

  describe('two sockets of one driver', () => {
    test('the new one serves; removing the old one changes nothing', async () => {
      await world.registerNow(disk);
      const next = upgraded();
      expect(await world.registerNow(next)).toBe('registered');
      expect(world.registry.get('disk')?.endpoint).toBe(next.endpoint);
      const before = world.writes().length;
      await world.clock.until(world.registry.deregister(disk));
      expect(world.registry.get('disk')?.endpoint).toBe(next.endpoint);
      expect([world.entries().length, world.writes().length]).toEqual([1, before]);
    });

    test('when the new one goes, the old one serves again with its own answer', async () => {
      await world.registerNow(disk);
      const next = upgraded({ nodeId: 'i-2', maxVolumesPerNode: 7n });
      await world.registerNow(next);
      expect(world.entries()[0]).toBe('disk i-2 [example.com/rack example.com/zone] 7');
      await world.clock.until(world.registry.deregister(next));
      expect(world.registry.get('disk')?.endpoint).toBe(disk.endpoint);
      expect([world.entries()[0], world.nodeIds()]).toEqual([
        'disk i-1 [example.com/rack example.com/zone] 39',
        '{"disk":"i-1"}',
      ]);
      await world.clock.until(world.registry.deregister(disk));
      expect([world.entries(), world.nodeIds()]).toEqual([[], undefined]);
    });

    test('a new one that fails leaves the old one as it was', async () => {
      await world.registerNow(disk);
      const next = upgraded();
      next.fail('info', { code: 'INTERNAL', message: 'no' });
      expect(await world.registerNow(next)).toBe('rpc error: code = Internal desc = no');
      next.fail('info', undefined);
      next.info = { ...next.info, accessibleTopology: { segments: { 'example.com/zone': 'b' } } };
      expect(await world.registerNow(next)).toContain('collision');
      expect(world.registry.get('disk')?.endpoint).toBe(disk.endpoint);
      expect(world.entries()).toEqual(['disk i-1 [example.com/rack example.com/zone] 39']);
    });

    test('the old one goes while the new one registers: its entry stays in CSINode', async () => {
      await world.registerNow(disk);
      const next = upgraded();
      const release = holdInfo(next);
      const outcome = world.register(next);
      await world.clock.settle();
      await world.clock.until(world.registry.deregister(disk));
      expect(world.entries()).toHaveLength(1);
      release();
      expect(await world.clock.until(outcome)).toBe('registered');
      expect([world.entries().length, world.registry.get('disk')?.endpoint]).toEqual([1, next.endpoint]);
    });

    test('the old one goes while the new one registers, and the new one fails: nothing is left', async () => {
      await world.registerNow(disk);
      const next = upgraded();
      next.fail('info', { code: 'hang' });
      const outcome = world.register(next);
      await world.clock.settle();
      await world.clock.until(world.registry.deregister(disk));
      await world.clock.until(outcome);
      expect([world.entries(), world.nodeIds(), world.registry.names()]).toEqual([[], undefined, []]);
    });

    test('of two that register together the one that succeeds last serves, and is what the API has', async () => {
      const next = upgraded({ maxVolumesPerNode: 7n });
      const release = holdInfo(disk);
      const first = world.register(disk);
      expect(await world.registerNow(next)).toBe('registered');
      release();
      expect(await world.clock.until(first)).toBe('registered');
      expect(world.registry.get('disk')?.endpoint).toBe(disk.endpoint);
      expect(world.entries()[0]).toMatch(/ 39$/);
    });

    test('a socket that goes while its driver is being published leaves nothing', async () => {
      const stalled = world.double.faults.stall({ verb: 'create', resource: 'csinodes' });
      const outcome = world.register(disk);
      await world.clock.settle();
      expect(stalled.waiting).toBe(1);
      const gone = world.registry.deregister(disk);
      stalled.remove();
      expect(await world.clock.until(outcome)).toContain('deregistered meanwhile');
      await world.clock.until(gone);
      expect([world.entries(), world.nodeIds(), world.registry.names()]).toEqual([[], undefined, []]);
    });

    test('a refresh of the old one does not overwrite what the new one has published', async () => {
      await world.registerNow(disk);
      const next = upgraded({ maxVolumesPerNode: 7n });
      const release = holdInfo(disk);
      const refresh = world.registry.refreshAllocatable('disk');
      expect(await world.registerNow(next)).toBe('registered');
      release();
      await world.clock.until(refresh);
      expect(world.entries()[0]).toMatch(/ 7$/);
    });

    test('the same socket registered again is one registration', async () => {
      await world.registerNow(disk);
      await world.registerNow(disk);
      await world.clock.until(world.registry.deregister(disk));
      expect([world.registry.names(), world.entries()]).toEqual([[], []]);
    });
  });

  describe('several drivers', () => {
    test('five at once are all published', async () => {
      const drivers = ['a', 'b', 'c', 'd', 'e'].map((name) => world.dialer.add(name));
      const outcomes = Promise.all(drivers.map((each) => world.register(each)));
      expect(await world.clock.until(outcomes)).toEqual(drivers.map(() => 'registered'));
      expect(world.entries().map((line) => line[0])).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(Object.keys(JSON.parse(world.nodeIds() ?? '{}') as object)).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(world.double.requests.filter(({ code }) => code >= 400 && code !== 404)).toEqual([]);
    });

    test('register while another is removed', async () => {
      await world.registerNow(disk);
      const outcomes = Promise.all([
        world.registry.deregister(disk),
        world.register(world.dialer.add('other')),
      ]);
      await world.clock.until(outcomes);
      expect(world.entries().map((line) => line.split(' ')[0])).toEqual(['other']);
      expect(world.nodeIds()).toBe('{"other":"node-1"}');
    });

    test('more than 256 are refused', async () => {
      const outcomes = await world.clock.until(
        Promise.all(
          Array.from({ length: 260 }, (_, at) => {
            const driver = new FakeCsiDriver(`d${at}`, `/p/${at}.sock`);
            driver.fail('info', { code: 'hang' });
            world.dialer.byEndpoint.set(driver.endpoint, driver);
            return world.register(driver);
          }),
        ),
      );
      expect(outcomes.filter((text) => text === '256 CSI drivers are registered')).toHaveLength(4);
    });
  });

  test('a removal that the API server missed is made up for', async () => {
    await world.registerNow(disk);
    world.double.faults.goDown();
    await world.clock.until(world.registry.deregister(disk));
    expect(world.entries()).toHaveLength(1);
    await world.clock.advance(30_000);
    world.double.faults.comeUp();
    await world.clock.advance(60_000);
    expect([world.entries(), world.nodeIds()]).toEqual([[], undefined]);
    expect(world.errors.length).toBeGreaterThan(0);
  });

  test('a driver that registers again before that stays', async () => {
    await world.registerNow(disk);
    world.double.faults.goDown();
    await world.clock.until(world.registry.deregister(disk));
    world.double.faults.comeUp();
    expect(await world.registerNow(disk)).toBe('registered');
    await world.clock.advance(120_000);
    expect(world.entries()).toHaveLength(1);
  });

  describe('refreshAllocatable', () => {
    test('updates the count in CSINode only', async () => {
      await world.registerNow(disk);
      disk.info = { ...disk.info, maxVolumesPerNode: 12n };
      const before = world.writes().length;
      await world.clock.until(world.registry.refreshAllocatable('disk'));
      expect(world.entries()[0]).toBe('disk i-1 [example.com/rack example.com/zone] 12');
      expect(world.writes().slice(before)).toEqual(['update csinodes n']);
    });

    test('callers at the same time share one call, and an unchanged count is not written', async () => {
      await world.registerNow(disk);
      const before = world.writes().length;
      const calls = disk.callsOf('info').length;
      await world.clock.until(
        Promise.all([world.registry.refreshAllocatable('disk'), world.registry.refreshAllocatable('disk')]),
      );
      expect([disk.callsOf('info').length - calls, world.writes().length - before]).toEqual([1, 0]);
    });

    test('fails with the reason', async () => {
      await expect(world.registry.refreshAllocatable('none')).rejects.toThrow(
        'failed to create CSI client for driver "none": driver name none not found in the list of registered CSI drivers',
      );
      await world.registerNow(disk);
      disk.fail('info', { code: 'INTERNAL', message: 'no', times: 1 });
      await expect(world.registry.refreshAllocatable('disk')).rejects.toThrow(
        'failed to get NodeGetInfo from driver "disk": rpc error: code = Internal desc = no',
      );
      expect(world.entries()).toHaveLength(1);
    });
  });
});
