import { beforeEach, describe, expect, test } from 'vitest';
import type { FakeCsiDriver } from '../../test/fakes/fake-csi-drivers.ts';
import { CsiWorld } from '../../test/simulate/csi-world.ts';

describe('AllocatableRefresh', () => {
  let world: CsiWorld;
  let disk: FakeCsiDriver;

  beforeEach(async () => {
    world = new CsiWorld();
    world.createNode();
    disk = world.dialer.add('disk');
    await world.start(world.registry, world.storage, world.refresh());
  });

  function csiDriver(nodeAllocatableUpdatePeriodSeconds?: number): void {
    const spec =
      nodeAllocatableUpdatePeriodSeconds === undefined ? {} : { nodeAllocatableUpdatePeriodSeconds };
    if (world.double.objects.get('csidrivers', '', 'disk') === undefined)
      world.double.objects.create('csidrivers', { metadata: { name: 'disk' }, spec });
    else world.double.objects.update('csidrivers', { metadata: { name: 'disk' }, spec });
  }

  async function asked(ms: number): Promise<number> {
    const before = disk.callsOf('info').length;
    await world.clock.advance(ms);
    return disk.callsOf('info').length - before;
  }

  test('asks a registered driver every period, and updates the count', async () => {
    csiDriver(60);
    await world.registerNow(disk);
    disk.info = { ...disk.info, maxVolumesPerNode: 3n };
    expect(await asked(59_000)).toBe(0);
    expect(await asked(1_000)).toBe(1);
    expect(world.entries()).toEqual(['disk node-1 [] 3']);
    expect(await asked(600_000)).toBe(10);
  });

  test('begins with the CSIDriver if that comes later, and ends with it', async () => {
    await world.registerNow(disk);
    expect(await asked(600_000)).toBe(0);
    csiDriver(10);
    expect(await asked(60_000)).toBe(6);
    world.double.objects.delete('csidrivers', '', 'disk');
    expect(await asked(60_000)).toBe(0);
  });

  test('a changed period applies at once, longer or shorter', async () => {
    csiDriver(10);
    await world.registerNow(disk);
    expect(await asked(20_000)).toBe(2);
    csiDriver(100);
    expect(await asked(99_000)).toBe(0);
    expect(await asked(2_000)).toBe(1);
    csiDriver(20);
    expect(await asked(40_000)).toBe(2);
    csiDriver();
    expect(await asked(600_000)).toBe(0);
  });

  test('ends with the registration, and begins with the next', async () => {
    csiDriver(10);
    await world.registerNow(disk);
    await world.clock.until(world.registry.deregister(disk));
    expect(await asked(60_000)).toBe(0);
    await world.registerNow(disk);
    expect(await asked(30_000)).toBe(3);
  });

  test('a driver without the object, or without a registration, is not called', async () => {
    csiDriver(10);
    expect(await asked(60_000)).toBe(0);
  });

  test('a failure is logged and waits for the next period', async () => {
    csiDriver(10);
    await world.registerNow(disk);
    disk.fail('info', { code: 'INTERNAL', message: 'no', times: 2 });
    expect(await asked(30_000)).toBe(3);
    expect(world.errors).toEqual([
      'Failed to update CSIDriver: failed to get NodeGetInfo from driver "disk": rpc error: code = Internal desc = no',
      'Failed to update CSIDriver: failed to get NodeGetInfo from driver "disk": rpc error: code = Internal desc = no',
    ]);
  });

  test('a driver that hangs delays no other', async () => {
    csiDriver(10);
    world.double.objects.create('csidrivers', {
      metadata: { name: 'other' },
      spec: { nodeAllocatableUpdatePeriodSeconds: 10 },
    });
    const other = world.dialer.add('other');
    await world.registerNow(disk);
    await world.registerNow(other);
    disk.fail('info', { code: 'hang' });
    const before = other.callsOf('info').length;
    await world.clock.advance(60_000);
    expect(other.callsOf('info').length - before).toBe(6);
  });

  test('a negative limit, or one above the API, is not written on every refresh', async () => {
    csiDriver(10);
    disk.info = { ...disk.info, maxVolumesPerNode: -1n };
    await world.registerNow(disk);
    const before = world.writes().length;
    await asked(60_000);
    disk.info = { ...disk.info, maxVolumesPerNode: 2n ** 40n };
    await asked(60_000);
    expect(world.entries()).toEqual(['disk node-1 [] 2147483647']);
    expect(world.writes()).toHaveLength(before + 1);
  });
});
