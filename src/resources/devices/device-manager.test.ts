import { expect, test } from 'vitest';
import { healthy, unhealthy } from '../../../test/fakes/fake-device-plugins.ts';
import {
  checkpointPath,
  DeviceWorld,
  gpu,
  requesting,
  wanting,
} from '../../../test/simulate/device-world.ts';
import { asPodUid, podUid } from '../../api/pod/pod-ref.ts';
import { decodeDeviceCheckpoint } from './device-checkpoint.ts';

const signal = new AbortController().signal;

async function worldWith(...ids: readonly string[]): Promise<DeviceWorld> {
  const world = new DeviceWorld();
  await world.boot();
  world.plugins.add('a.sock', ...ids.map((id) => healthy(id)));
  await world.register('a.sock');
  return world;
}

test('gives each pod its own devices and passes on what the plugin answers', async () => {
  const world = await worldWith('a', 'b', 'c');
  const [one, two] = [wanting('one', 2), wanting('two', 1)];
  expect(await world.admit(one)).toBeUndefined();
  expect(await world.admit(two)).toBeUndefined();
  expect((await world.run(one)).env).toEqual(new Map([['DEVICES', 'a,b']]));
  expect((await world.run(two)).env).toEqual(new Map([['DEVICES', 'c']]));
  expect(await world.admit(wanting('three', 1))).toBe(
    `requested number of devices unavailable for ${gpu}. Requested: 1, Available: 0`,
  );
  expect(world.plugins.bySocket.get('a.sock')?.calls).toEqual(['allocate a,b', 'allocate c']);
  expect(world.counted).toEqual([`registered ${gpu}`, `allocated ${gpu} 0`, `allocated ${gpu} 0`]);
  expect([...world.manager.holders()].toSorted()).toEqual(['uid-one', 'uid-two']);
  world.release(one);
  expect(await world.admit(wanting('three', 1))).toBeUndefined();
  await world.stop();
});

test('writes the allocation before the pod is committed, and the release afterwards', async () => {
  const world = await worldWith('a', 'b');
  const pod = wanting('one', 1);
  expect(await world.admit(pod)).toBeUndefined();
  const read = () => decodeDeviceCheckpoint(world.files.get(checkpointPath) ?? '');
  expect(read().entries.map(({ podUid: uid }) => uid)).toEqual(['uid-one']);
  expect(read().registered).toEqual(new Map([[gpu, ['a', 'b']]]));
  world.release(pod);
  await world.clock.advance(10);
  expect(read().entries).toEqual([]);
  await world.stop();
});

test('rejects a pod whose allocation cannot be written', async () => {
  const world = await worldWith('a');
  await world.clock.advance(10);
  world.onFile = async () => {
    throw new Error('no space left on device');
  };
  expect(await world.admit(wanting('one', 1))).toBe(
    'Allocate failed due to failed to write checkpoint file "kubelet_internal_checkpoint": no space left on device, which is unexpected',
  );
  world.onFile = async () => undefined;
  expect(await world.admit(wanting('two', 1))).toBeUndefined();
  await world.stop();
});

test('init containers lend their devices to their successors, sidecars do not', async () => {
  const world = await worldWith('a', 'b', 'c');
  const pod = wanting('one', 1, {
    initContainers: [requesting('i', 2), requesting('s', 1, gpu, { restartPolicy: 'Always' })],
    containers: [requesting('c', 1), requesting('d', 1)],
  });
  expect(await world.admit(pod)).toBeUndefined();
  const ids = ['i', 's', 'c', 'd'].map((name) => world.idsOf(pod, name));
  expect(ids).toEqual([['a', 'b'], ['a'], ['b'], ['c']]);
  await world.stop();
});

test('the devices that the plugin prefers replace the reserved ones, also those that a successor reuses', async () => {
  const world = await worldWith('a', 'b', 'c', 'd');
  const plugin = world.plugins.bySocket.get('a.sock');
  if (plugin === undefined) throw new Error('no plugin');
  plugin.options = { preStartRequired: false, preferredAllocation: true };
  await world.register('a.sock');
  plugin.prefer = async () => ['x', 'd', 'd', 'c', 'b'];
  const pod = wanting('one', 1, { initContainers: [requesting('i', 1)], containers: [requesting('c', 2)] });
  expect(await world.admit(pod)).toBeUndefined();
  expect(plugin.calls).toEqual([
    'prefer 1 of a,b,c,d with ',
    'allocate d',
    'prefer 2 of a,b,c,d with d',
    'allocate c,d',
  ]);
  expect([world.idsOf(pod, 'i'), world.idsOf(pod)]).toEqual([['d'], ['c', 'd']]);
  // Nothing stays reserved besides.
  expect(await world.admit(wanting('two', 2))).toBeUndefined();
  await world.stop();
});

test('the first container chooses among all free devices, and later ones among the rest', async () => {
  const world = await worldWith('a', 'b', 'c', 'd');
  const plugin = world.plugins.bySocket.get('a.sock');
  if (plugin === undefined) throw new Error('no plugin');
  plugin.options = { preStartRequired: false, preferredAllocation: true };
  await world.register('a.sock');
  plugin.prefer = async () => ['a', 'c', 'b', 'd'];
  const pod = wanting('one', 2, { containers: [requesting('c', 2), requesting('d', 1), requesting('e', 1)] });
  expect(await world.admit(pod)).toBeUndefined();
  expect(plugin.calls).toEqual([
    'prefer 2 of a,b,c,d with ',
    'allocate a,c',
    'prefer 1 of b,d with ',
    'allocate b',
    'prefer 1 of d with ',
    'allocate d',
  ]);
  expect(['c', 'd', 'e'].map((name) => world.idsOf(pod, name))).toEqual([['a', 'c'], ['b'], ['d']]);
  await world.stop();
});

test.each([
  ['is taken if the later one stays on its node', [1, 1], 'b', [['b'], ['a']]],
  ['is not taken if the later one would leave its node', [3, 2], 'c', [['a'], ['c']]],
] as const)('a device that a later container has reserved %s', async (_, masks, preferred, ids) => {
  const world = new DeviceWorld();
  await world.boot();
  const plugin = world.plugins.add('a.sock', healthy('a', [0]), healthy('b', [0]), healthy('c', [1]));
  plugin.options = { preStartRequired: false, preferredAllocation: true };
  await world.register('a.sock');
  plugin.prefer = async () => [preferred];
  const containers = [requesting('c', 1), requesting('d', 1)];
  const pod = wanting('one', 1, { containers });
  world.pods.set(podUid(pod), pod);
  for (const [at, each] of containers.entries())
    world.manager.allocate(pod, each, { mask: masks[at], preferred: true });
  expect(await world.manager.commit(pod, signal)).toBeUndefined();
  expect(['c', 'd'].map((name) => world.idsOf(pod, name))).toEqual(ids);
  await world.stop();
});

test('a preferred device that another pod took in the meantime is not given twice', async () => {
  const world = await worldWith('a', 'b');
  const plugin = world.plugins.bySocket.get('a.sock');
  if (plugin === undefined) throw new Error('no plugin');
  plugin.options = { preStartRequired: false, preferredAllocation: true };
  await world.register('a.sock');
  const [one, two] = [wanting('one', 1), wanting('two', 1)];
  plugin.prefer = async () => {
    expect(world.reserve(two)).toBeUndefined();
    plugin.prefer = async () => ['a'];
    return ['b'];
  };
  expect(await world.admit(one)).toBeUndefined();
  expect(world.idsOf(one)).toEqual(['a']);
  expect(await world.manager.commit(two, signal)).toBeUndefined();
  expect(world.idsOf(two)).toEqual(['b']);
  await world.stop();
});

test('calls PreStartContainer before every start', async () => {
  const world = await worldWith('a');
  const plugin = world.plugins.bySocket.get('a.sock');
  if (plugin === undefined) throw new Error('no plugin');
  plugin.options = { preStartRequired: true, preferredAllocation: false };
  await world.register('a.sock');
  const pod = wanting('one', 1);
  await world.admit(pod);
  await world.run(pod);
  await world.run(pod);
  expect(plugin.calls).toEqual(['allocate a', 'preStart a', 'preStart a']);
  plugin.preStart = async () => {
    throw new Error('no firmware');
  };
  await expect(world.run(pod)).rejects.toThrow(
    'device plugin PreStartContainer rpc failed with err: no firmware',
  );
  plugin.die();
  await world.clock.settle();
  await expect(world.run(pod)).rejects.toThrow(
    'device plugin PreStartContainer rpc failed with err: endpoint a.sock has been stopped',
  );
  await world.stop();
});

test('allocates for an active pod without a record when its container is created', async () => {
  const world = await worldWith('a');
  const pod = wanting('one', 1);
  world.pods.set(podUid(pod), pod);
  expect((await world.run(pod)).env.get('DEVICES')).toBe('a');
  expect(decodeDeviceCheckpoint(world.files.get(checkpointPath) ?? '').entries).toHaveLength(1);
  await world.stop();
});

test('ignores resources that no plugin advertised, requests for zero, and those that DRA serves', async () => {
  const world = await worldWith('a');
  expect(await world.admit(wanting('one', 5, {}, 'other.example/by-hand'))).toBeUndefined();
  expect(await world.admit(wanting('two', 0))).toBeUndefined();
  const claimed = {
    ...wanting('three', 3),
    status: {
      extendedResourceClaimStatus: {
        resourceClaimName: 'x',
        requestMappings: [{ containerName: 'c', resourceName: gpu, requestName: 'r' }],
      },
    },
  };
  expect(await world.admit(claimed)).toBeUndefined();
  expect(world.manager.waitingFor(claimed)).toBeUndefined();
  expect([...world.manager.holders()]).toEqual([]);
  expect(
    ['example.com/gpu', 'other.example/by-hand'].map((name) => world.manager.isDeviceResource(name)),
  ).toEqual([true, false]);
  await world.stop();
});

test('gives hints by NUMA node, and reserves aligned devices', async () => {
  const world = new DeviceWorld();
  await world.boot();
  world.plugins.add('a.sock', healthy('a', [0]), healthy('b', [1]), healthy('c', [1]));
  await world.register('a.sock');
  const pod = wanting('one', 2);
  const [container] = pod.spec?.containers ?? [];
  if (container === undefined) throw new Error('no container');
  const hints = [
    { mask: 2, preferred: true },
    { mask: 3, preferred: false },
  ];
  expect(world.manager.containerHints(pod, container)).toEqual(new Map([[gpu, hints]]));
  expect(world.manager.podHints(pod)).toEqual(new Map([[gpu, hints]]));
  world.manager.allocate(pod, container, { mask: 2, preferred: true });
  expect(await world.manager.commit(pod, signal)).toBeUndefined();
  expect(world.manager.devicesOf(podUid(pod), 'c')).toEqual([
    { resource: gpu, id: 'b', numaNodes: [1] },
    { resource: gpu, id: 'c', numaNodes: [1] },
  ]);
  expect(world.manager.containerHints(pod, container)).toEqual(new Map([[gpu, hints]]));
  expect(world.manager.allocatableDevices()).toHaveLength(3);
  await world.stop();
});

test('reports the health of allocated devices, and announces its changes', async () => {
  const world = await worldWith('a', 'b');
  const plugin = world.plugins.bySocket.get('a.sock');
  const pod = wanting('one', 2);
  expect(world.manager.statusOf(podUid(pod), 'c')).toEqual([]);
  await world.admit(pod);
  await world.run(pod);
  const health = () => world.manager.statusOf(podUid(pod), 'c')[0]?.resources?.map((each) => each.health);
  expect(health()).toEqual(['Healthy', 'Healthy']);
  plugin?.send(healthy('a'), unhealthy('b'));
  await world.clock.settle();
  expect(health()).toEqual(['Healthy', 'Unhealthy']);
  expect(world.changed).toEqual(['uid-one']);
  plugin?.send(healthy('a'));
  await world.clock.settle();
  expect(health()).toEqual(['Healthy', 'Healthy']);
  plugin?.send(healthy('a'), healthy('b'));
  await world.clock.settle();
  expect(world.changed).toEqual(['uid-one', 'uid-one']);
  expect(world.manager.statusOf(podUid(pod), 'other')).toEqual([]);
  expect(world.manager.devicesOf(asPodUid('none'), 'c')).toEqual([]);
  await world.stop();
});
