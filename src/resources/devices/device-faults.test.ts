// What plugins do wrong: they die, hang, flood, answer garbage or name devices that they must not.
import { expect, test } from 'vitest';
import { type FakeDevicePlugin, hang, healthy, unhealthy } from '../../../test/fakes/fake-device-plugins.ts';
import { DeviceWorld, gpu, requesting, wanting } from '../../../test/simulate/device-world.ts';
import { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { asPodUid, podUid } from '../../api/pod/pod-ref.ts';

const signal = new AbortController().signal;

async function worldWith(
  ...ids: readonly string[]
): Promise<{ world: DeviceWorld; plugin: FakeDevicePlugin }> {
  const world = new DeviceWorld();
  await world.boot();
  const plugin = world.plugins.add('a.sock', ...ids.map((id) => healthy(id)));
  plugin.options = { preStartRequired: true, preferredAllocation: true };
  await world.register('a.sock');
  return { world, plugin };
}

function allocatable(world: DeviceWorld): string | undefined {
  return world.manager.nodeDevices().allocatable.get(gpu)?.toString();
}

test('a plugin that dies during ListAndWatch takes its devices along, until it is back', async () => {
  const { plugin, world } = await worldWith('a', 'b');
  plugin.die();
  await world.clock.settle();
  expect(allocatable(world)).toBe('0');
  expect(world.reserve(wanting('one', 1))).toBe(
    `no healthy devices present; cannot allocate unhealthy devices ${gpu}`,
  );
  await world.register('a.sock');
  expect(await world.admit(wanting('one', 2))).toBeUndefined();
  await world.stop();
});

test('a plugin that dies during Allocate fails that pod, and the devices are free again', async () => {
  const { plugin, world } = await worldWith('a');
  plugin.allocate = () => {
    plugin.die();
    return hang();
  };
  const result = world.admit(wanting('one', 1));
  await world.clock.settle();
  expect(await result).toBe('Allocate failed due to endpoint a.sock has been stopped, which is unexpected');
  plugin.allocate = async () => ContainerAllocateResponse.create();
  await world.register('a.sock');
  expect(await world.admit(wanting('two', 1))).toBeUndefined();
  await world.stop();
});

test('a plugin that dies between reservation and Allocate fails that pod', async () => {
  const { plugin, world } = await worldWith('a');
  const pod = wanting('one', 1);
  expect(world.reserve(pod)).toBeUndefined();
  plugin.die();
  await world.clock.settle();
  expect((await world.manager.commit(pod, signal))?.message).toBe(
    'Allocate failed due to endpoint a.sock has been stopped, which is unexpected',
  );
  await world.stop();
});

test('a plugin that dies between Allocate and start fails the start, which succeeds when the plugin is back', async () => {
  const { plugin, world } = await worldWith('a');
  const pod = wanting('one', 1);
  await world.admit(pod);
  plugin.die();
  await world.clock.settle();
  await expect(world.run(pod)).rejects.toThrow('endpoint a.sock has been stopped');
  await world.register('a.sock');
  expect((await world.run(pod)).env.get('DEVICES')).toBe('a');
  expect(plugin.calls.filter((call) => call.startsWith('allocate'))).toEqual(['allocate a']);
  await world.stop();
});

test('a plugin that hangs delays only the pods that use it, and not indefinitely', async () => {
  const { plugin, world } = await worldWith('a', 'b');
  plugin.allocate = () => hang();
  const stuck = world.admit(wanting('one', 1));
  world.plugins.add('b.sock', healthy('x'));
  await world.register('b.sock', 'example.com/nic');
  expect(await world.admit(wanting('two', 1, {}, 'example.com/nic'))).toBeUndefined();
  const activities = () => world.manager.activities(asPodUid('uid-one'));
  expect(activities().map(({ what }) => what)).toEqual([`the device plugin of ${gpu} is allocating devices`]);
  await world.clock.advance(120_000);
  expect(activities()).toEqual([]);
  expect(await stuck).toBe(
    'Allocate failed due to Allocate of device plugin a.sock did not finish within 120000 ms, which is unexpected',
  );
  plugin.prefer = () => hang();
  const unsure = world.admit(wanting('three', 1));
  await world.clock.advance(30_000);
  expect(await unsure).toContain('device plugin GetPreferredAllocation rpc failed with err: ');
  plugin.prefer = async () => [];
  plugin.allocate = async () => ContainerAllocateResponse.create();
  plugin.preStart = () => hang();
  const pod = wanting('four', 1);
  expect(await world.admit(pod)).toBeUndefined();
  const start = expect(world.run(pod)).rejects.toThrow('did not finish within 30000 ms');
  await world.clock.advance(30_000);
  await start;
  await world.stop();
});

test('an aborted commit rejects with the reason of the abort', async () => {
  const { plugin, world } = await worldWith('a');
  plugin.allocate = () => hang();
  const pod = wanting('one', 1);
  world.reserve(pod);
  const abort = new AbortController();
  const result = world.manager.commit(pod, abort.signal);
  abort.abort(new Error('the pod was deleted'));
  await expect(result).rejects.toThrow('the pod was deleted');
  await world.stop();
});

test('a pod that is released while the plugin allocates gets nothing, and its devices may go to another pod', async () => {
  const { plugin, world } = await worldWith('a');
  let answer = (): void => undefined;
  plugin.allocate = () =>
    new Promise((resolve) => {
      answer = () => resolve(ContainerAllocateResponse.create({ envs: { FROM: 'first' } }));
    });
  const [one, two] = [wanting('one', 1), wanting('two', 1)];
  const first = world.admit(one);
  await world.clock.settle();
  world.release(one);
  plugin.allocate = async () => ContainerAllocateResponse.create({ envs: { FROM: 'second' } });
  expect(await world.admit(two)).toBeUndefined();
  answer();
  expect(await first).toBe(
    'Allocate failed due to the devices of pod "uid-one" were released during the allocation, which is unexpected',
  );
  expect([...world.manager.holders()]).toEqual(['uid-two']);
  expect((await world.run(two)).env.get('FROM')).toBe('second');
  await world.stop();
});

test('garbage in an answer fails that pod with a clear message', async () => {
  const { plugin, world } = await worldWith('a');
  plugin.allocate = async () =>
    ContainerAllocateResponse.create({
      devices: [{ hostPath: '../sda', containerPath: '/dev/x', permissions: 'rw' }],
    });
  expect(await world.admit(wanting('one', 1))).toBe(
    `Allocate failed due to device plugin of ${gpu} returned an invalid allocation response: device has the host path "../sda", which is not absolute, which is unexpected`,
  );
  plugin.allocate = async () => {
    throw new Error('rpc error: code = Internal desc = out of cheese');
  };
  expect(await world.admit(wanting('two', 1))).toBe(
    'Allocate failed due to rpc error: code = Internal desc = out of cheese, which is unexpected',
  );
  expect([...world.manager.holders()]).toEqual([]);
  await world.stop();
});

test('devices that no pod requested are never given', async () => {
  const { plugin, world } = await worldWith('a', 'b', 'c');
  plugin.send(healthy('a'), unhealthy('b'), healthy('c'));
  await world.clock.settle();
  const other = wanting('other', 1);
  await world.admit(other);
  plugin.prefer = async () => ['b', 'a', 'unknown', '', 'c', 'c'];
  const pod = wanting('one', 1);
  await world.admit(pod);
  expect([world.idsOf(other), world.idsOf(pod)]).toEqual([['a'], ['c']]);
  await world.stop();
});

test('a device that becomes unhealthy under a running pod stays with it, and goes to no other', async () => {
  const { plugin, world } = await worldWith('a', 'b');
  const pod = wanting('one', 1);
  await world.admit(pod);
  await world.run(pod);
  plugin.send(unhealthy('a'), healthy('b'));
  await world.clock.settle();
  expect(world.changed).toEqual(['uid-one']);
  expect(world.manager.statusOf(podUid(pod), 'c')).toEqual([
    { name: gpu, resources: [{ resourceID: 'a', health: 'Unhealthy' }] },
  ]);
  world.release(pod);
  expect(await world.admit(wanting('two', 2))).toBe(
    `requested number of devices unavailable for ${gpu}. Requested: 2, Available: 1`,
  );
  await world.stop();
});

test('a device that becomes unhealthy between reservation and Allocate is exchanged', async () => {
  const { plugin, world } = await worldWith('a', 'b');
  const pod = wanting('one', 1);
  world.reserve(pod);
  plugin.send(unhealthy('a'), healthy('b'));
  await world.clock.settle();
  expect(await world.manager.commit(pod, signal)).toBeUndefined();
  expect(world.idsOf(pod)).toEqual(['b']);
  await world.stop();
});

test('a flood of lists is coalesced: few take effect, the last one does', async () => {
  const { plugin, world } = await worldWith('a');
  const before = world.capacityChanges;
  for (let index = 0; index < 5_000; index += 1)
    plugin.send(...Array.from({ length: 1 + (index % 7) }, (_, at) => healthy(`d${at}`)));
  plugin.send(healthy('last'));
  await world.clock.advance(1_000);
  expect(world.capacityChanges - before).toBeLessThanOrEqual(8);
  await world.clock.advance(2_000);
  expect(world.manager.allocatableDevices().map(({ id }) => id)).toEqual(['last']);
  await world.stop();
});

test('a device that changes its health all the time does not change the node all the time', async () => {
  const { plugin, world } = await worldWith('a');
  const before = world.capacityChanges;
  for (let second = 0; second < 60; second += 1) {
    plugin.send(second % 2 === 0 ? { ...healthy('a'), healthy: false } : healthy('a'));
    await world.clock.advance(1_000);
  }
  expect(world.capacityChanges - before).toBeLessThanOrEqual(16);
  const during = world.capacityChanges;
  // The last change is announced in any case.
  plugin.send({ ...healthy('a'), healthy: false });
  await world.clock.advance(20_000);
  expect(world.capacityChanges).toBe(during + 1);
  await world.stop();
});

test('the same list again changes and writes nothing', async () => {
  const { plugin, world } = await worldWith('a');
  await world.clock.advance(100);
  const before = world.capacityChanges;
  world.onFile = async () => {
    throw new Error('must not be written');
  };
  plugin.send(healthy('a'));
  await world.clock.advance(10_000);
  expect(world.capacityChanges).toBe(before);
  await world.stop();
});

test('a list beyond the bounds is cut', async () => {
  const { plugin, world } = await worldWith('a');
  const many = Array.from({ length: 10_500 }, (_, index) => healthy(`d${index}`));
  plugin.send(healthy(''), healthy('x'.repeat(2_000)), ...many);
  await world.clock.settle();
  expect(allocatable(world)).toBe('10k');
  await world.stop();
});

test('gives 1,000 devices to 200 pods, each to one, and takes them back', async () => {
  const { plugin, world } = await worldWith();
  plugin.options = { preStartRequired: false, preferredAllocation: true };
  plugin.send(...Array.from({ length: 1_000 }, (_, index) => healthy(`device-${index}`, [index % 2])));
  await world.register('a.sock');
  plugin.prefer = async (available) => available.toReversed();
  const pods = Array.from({ length: 200 }, (_, index) =>
    wanting(`p${index}`, 3, { initContainers: [requesting('i', 5)], containers: [requesting('c', 3)] }),
  );
  for (const pod of pods) {
    expect(await world.admit(pod)).toBeUndefined();
    await world.run(pod);
  }
  const given = pods.flatMap((pod) => world.idsOf(pod, 'i'));
  expect(new Set(given).size).toBe(1_000);
  for (const pod of pods) world.manager.release(podUid(pod));
  expect([...world.manager.holders()]).toEqual([]);
  await world.stop();
});
