import { expect, test } from 'vitest';
import { healthy, unhealthy } from '../../../test/fakes/fake-device-plugins.ts';
import { checkpointPath, DeviceWorld, gpu, wanting } from '../../../test/simulate/device-world.ts';
import { formatAmounts } from '../../api/quantity/resource-amounts.ts';
import { decodeDeviceCheckpoint } from './device-checkpoint.ts';

const signal = new AbortController().signal;

async function worldWith(...ids: readonly string[]): Promise<DeviceWorld> {
  const world = new DeviceWorld();
  await world.boot();
  world.plugins.add('a.sock', ...ids.map((id) => healthy(id)));
  await world.register('a.sock');
  return world;
}

function amounts(world: DeviceWorld): unknown {
  const { allocatable, capacity, removed } = world.manager.nodeDevices();
  return [formatAmounts(capacity), formatAmounts(allocatable), removed];
}

test('reports capacity and allocatable, zero after five minutes without a plugin', async () => {
  const world = new DeviceWorld();
  await world.boot();
  const plugin = world.plugins.add('a.sock', healthy('a'), unhealthy('b'));
  await world.register('a.sock');
  expect(amounts(world)).toEqual([{ [gpu]: '2' }, { [gpu]: '1' }, []]);
  plugin.die();
  await world.clock.settle();
  expect(amounts(world)).toEqual([{ [gpu]: '2' }, { [gpu]: '0' }, []]);
  const before = world.capacityChanges;
  await world.clock.advance(300_010);
  expect(amounts(world)).toEqual([{}, {}, [gpu]]);
  expect(world.capacityChanges).toBe(before + 1);
  expect(decodeDeviceCheckpoint(world.files.get(checkpointPath) ?? '').registered.size).toBe(0);
  await world.register('a.sock');
  expect(amounts(world)).toEqual([{ [gpu]: '2' }, { [gpu]: '1' }, []]);
  await world.stop();
});

test('several plugins of a resource: the newest serves, and losing it promotes the other', async () => {
  const world = await worldWith('a', 'b', 'c');
  const old = world.plugins.bySocket.get('a.sock');
  const young = world.plugins.add('b.sock', healthy('a'), healthy('b'), healthy('c'));
  await world.register('b.sock');
  await world.admit(wanting('one', 1));
  young.die();
  await world.clock.settle();
  expect(amounts(world)).toEqual([{ [gpu]: '3' }, { [gpu]: '3' }, []]);
  await world.admit(wanting('two', 1));
  expect([young.calls, old?.calls]).toEqual([['allocate a'], ['allocate b']]);
  world.manager.deregister({ resource: gpu, socket: 'a.sock' });
  expect(amounts(world)).toEqual([{ [gpu]: '3' }, { [gpu]: '0' }, []]);
  await world.stop();
});

test('a registration on a connected socket replaces the connection', async () => {
  const world = await worldWith('a');
  const plugin = world.plugins.bySocket.get('a.sock');
  await world.register('a.sock');
  expect(plugin?.streams.size).toBe(1);
  expect(amounts(world)).toEqual([{ [gpu]: '1' }, { [gpu]: '1' }, []]);
  plugin?.die();
  await world.clock.settle();
  expect(amounts(world)).toEqual([{ [gpu]: '1' }, { [gpu]: '0' }, []]);
  await world.register('a.sock');
  expect(await world.admit(wanting('one', 1))).toBeUndefined();
  await world.stop();
});

const registrations = [
  [
    { versions: ['v1'] },
    'requested API version "v1" is not supported by kubelet. Supported version is ["v1beta1"]',
  ],
  [{ versions: ['v1', 'v2'] }, 'manager version, v1beta1, is not among plugin supported versions [v1 v2]'],
  [{ resource: 'cpu' }, 'the ResourceName "cpu" is invalid'],
  [{ resource: 'kubernetes.io/x' }, 'the ResourceName "kubernetes.io/x" is invalid'],
  [{ resource: 'requests.example.com/x' }, 'the ResourceName "requests.example.com/x" is invalid'],
  [{ resource: 'example.com/a b' }, 'the ResourceName "example.com/a b" is invalid'],
  [{ socket: 'none.sock' }, 'failed to dial device plugin: no such socket'],
] as const;
for (const [over, text] of registrations)
  test(`rejects a registration: ${text}`, async () => {
    const world = await worldWith('a');
    const plugin = { resource: gpu, socket: 'a.sock', versions: ['v1beta1'], ...over };
    await expect(world.manager.register(plugin, signal)).rejects.toThrow(text);
    await world.stop();
  });

test('bounds the number of plugins', async () => {
  const world = await worldWith('a');
  for (let index = 1; index < 64; index += 1) {
    world.plugins.add(`${index}.sock`);
    await world.manager.register(
      { resource: `example.com/r${index}`, socket: `${index}.sock`, versions: ['v1beta1'] },
      signal,
    );
  }
  world.plugins.add('more.sock');
  await expect(world.register('more.sock')).rejects.toThrow('connected to 64 device plugins');
  await world.register('a.sock');
  await world.stop();
});

test('a registration before the checkpoint was read is rejected', async () => {
  const world = new DeviceWorld();
  world.plugins.add('a.sock', healthy('a'));
  await expect(world.register('a.sock')).rejects.toThrow('the device manager has not started yet');
});

test('a plugin that connects while the kubelet stops is disconnected', async () => {
  const world = await worldWith('a');
  const plugin = world.plugins.add('b.sock', healthy('b'));
  let open = (): void => undefined;
  world.plugins.gate = new Promise((resolve) => {
    open = resolve;
  });
  const registering = expect(world.register('b.sock')).rejects.toThrow('the device manager is stopping');
  await world.stop();
  open();
  await registering;
  expect(plugin.streams.size).toBe(0);
});
