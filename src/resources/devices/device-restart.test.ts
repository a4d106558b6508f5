// The kubelet is killed and starts again from its files: no device is given twice, none is lost.
import { describe, expect, test } from 'vitest';
import { hang, healthy } from '../../../test/fakes/fake-device-plugins.ts';
import {
  checkpointPath,
  DeviceWorld,
  gpu,
  requesting,
  wanting,
} from '../../../test/simulate/device-world.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { podUid } from '../../api/pod/pod-ref.ts';

const ids = ['a', 'b', 'c', 'd'];

interface Steps {
  count: number;
  /** From this step on nothing returns any more. */
  readonly killAt: number;
  /** Whether the step itself still happens. */
  readonly after: boolean;
}

/** Every operation outside the manager is a step. */
async function step<T>(steps: Steps, work: () => Promise<T>): Promise<T> {
  steps.count += 1;
  if (steps.count < steps.killAt) return work();
  if (steps.count === steps.killAt && steps.after) await work();
  return hang();
}

function install(world: DeviceWorld, steps: Steps): void {
  const plugin = world.plugins.bySocket.get('a.sock');
  if (plugin === undefined) throw new Error('no plugin');
  plugin.prefer = (available) => step(steps, async () => available.toReversed());
  plugin.allocate = (given) =>
    step(steps, async () => ContainerAllocateResponse.create({ envs: { DEVICES: given.join(',') } }));
  plugin.preStart = () => step(steps, async () => undefined);
  world.onFile = () => step(steps, async () => undefined);
}

const calm = (): Steps => ({ count: 0, killAt: Number.POSITIVE_INFINITY, after: false });

async function newWorld(): Promise<DeviceWorld> {
  const world = new DeviceWorld();
  const plugin = world.plugins.add('a.sock', ...ids.map((id) => healthy(id)));
  plugin.options = { preStartRequired: true, preferredAllocation: true };
  await world.boot();
  await world.register('a.sock');
  await world.clock.advance(100);
  return world;
}

function podNamed(name: string): Pod {
  return wanting(name, 1, { initContainers: [requesting('i', 2)], containers: [requesting('c', 1)] });
}

/** The devices in use by running containers, as the containers themselves know them. */
function inUse(world: DeviceWorld): readonly string[] {
  return [...world.running.values()].flatMap((annotations) => {
    const text = annotations['io.kubernetes.container.devices'] ?? '{}';
    return (JSON.parse(text) as Record<string, string[]>)[gpu] ?? [];
  });
}

async function startPod(world: DeviceWorld, pod: Pod): Promise<void> {
  expect(await world.admit(pod)).toBeUndefined();
  await world.run(pod, 'i');
  world.running.delete(`${podUid(pod)} i`);
  await world.run(pod);
}

async function stepsOfAStart(): Promise<number> {
  const world = await newWorld();
  const steps = calm();
  install(world, steps);
  await startPod(world, podNamed('one'));
  await world.stop();
  return steps.count;
}

describe('killed at any step between reservation and start', async () => {
  const total = await stepsOfAStart();
  for (let killAt = 1; killAt <= total; killAt += 1)
    for (const after of [false, true])
      test(`${after ? 'after' : 'before'} step ${killAt} of ${total}`, async () => {
        const world = await newWorld();
        install(world, { count: 0, killAt, after });
        void startPod(world, podNamed('one')).catch(() => undefined);
        await world.clock.settle();
        // The process is gone: nothing of it reaches the files or the plugin any more.
        install(world, calm());
        world.pods.clear();
        await world.boot();
        await world.register('a.sock');
        // Another pod comes first, and takes as much as it can.
        const two = podNamed('two');
        await startPod(world, two);
        await startPod(world, podNamed('one'));
        const used = inUse(world);
        expect(new Set(used).size).toBe(used.length);
        for (const uid of world.manager.holders()) world.manager.release(uid);
        expect(await world.admit(wanting('all', ids.length))).toBeUndefined();
        await world.stop();
      });
});

/** A node with one running pod, whose kubelet was stopped. */
async function stoppedWorld(): Promise<DeviceWorld> {
  const world = await newWorld();
  install(world, calm());
  await startPod(world, podNamed('one'));
  await world.admit(wanting('ended', 1));
  await world.stop();
  return world;
}

const previousPath = '/device-plugins/.kubelet_internal_checkpoint.previous';
const damaged = [
  [
    'truncated',
    (text: string) => text.slice(0, 40),
    'it is not JSON: Unterminated string in JSON at position 40',
  ],
  ['empty', () => '', 'it is empty'],
  ['of another version', () => '{"policyName":"none","checksum":1}', 'checkpoint is corrupted'],
  ['changed', (text: string) => text.replace('uid-one', 'uid-two'), 'checkpoint is corrupted'],
] as const;
for (const [name, damage, why] of damaged)
  test(`a checkpoint that is ${name} is restored from its predecessor, with one event`, async () => {
    const world = await stoppedWorld();
    const text = world.files.get(checkpointPath) ?? '';
    world.files.set(previousPath, text);
    world.files.set(checkpointPath, damage(text));
    world.sourcesReady = false;
    await world.boot();
    await world.clock.advance(5_000);
    expect(world.events).toEqual([]);
    world.sourcesReady = true;
    await world.clock.advance(5_000);
    expect(world.events).toEqual([
      `Warning ManagerStateRecovered: checkpoint ${checkpointPath} is damaged (${why}), was kept as /device-plugins/.kubelet_internal_checkpoint.damaged and restored from its predecessor and the runtime`,
    ]);
    await world.register('a.sock');
    expect(await world.admit(podNamed('one'))).toBeUndefined();
    expect(world.idsOf(podNamed('one'))).toEqual(inUse(world));
    await world.stop();
  });

test('without any checkpoint, the devices of running containers are restored from their annotations', async () => {
  const world = await stoppedWorld();
  world.files.clear();
  await world.boot();
  await world.register('a.sock');
  const one = podNamed('one');
  expect(world.manager.waitingFor(one)).toBeUndefined();
  expect(await world.admit(one)).toBeUndefined();
  const used = inUse(world);
  expect(world.idsOf(one)).toEqual(used);
  const plugin = world.plugins.bySocket.get('a.sock');
  plugin?.calls.splice(0);
  // The record lacks the plugin's response: it allocates once more before the next start, after another restart too.
  await world.stop();
  await world.boot();
  await world.register('a.sock');
  world.running.clear();
  expect((await world.run(one)).env.get('DEVICES')).toBe(used.join(','));
  expect(plugin?.calls).toContain(`allocate ${used.join(',')}`);
  await world.stop();
});

test('while a running pod may use unknown devices, no other pod gets any of that resource', async () => {
  const world = await stoppedWorld();
  world.files.set(checkpointPath, '');
  world.files.delete(previousPath);
  // As a container that the Go kubelet created.
  world.running.set('uid-one c', {});
  world.pods.clear();
  const [one, two] = [podNamed('one'), wanting('two', 1)];
  world.sourcesReady = false;
  await world.boot();
  await world.register('a.sock');
  await world.clock.settle();
  const unknown = `it is unknown which devices of resource "${gpu}" running pods use`;
  expect(world.manager.waitingFor(two)?.message).toBe(unknown);
  expect(world.reserve(two)).toContain('Requested: 1, Available: 0');
  world.pods.set(podUid(one), one);
  world.sourcesReady = true;
  await world.clock.advance(2_000);
  expect(world.events).toEqual([
    `Warning ManagerStateRecovered: checkpoint ${checkpointPath} is damaged (it is empty), was kept as /device-plugins/.kubelet_internal_checkpoint.damaged and restored from the runtime; until these pods end, no other pod gets devices of their resources, since it is unknown which ones they use: default/one`,
  ]);
  expect(world.manager.waitingFor(two)?.message).toBe(unknown);
  world.woken.splice(0);
  // The pod itself keeps running, and a container of it that does not run is no reason to reject it.
  expect(await world.admit(one)).toBeUndefined();
  expect(world.manager.containerHints(one, requesting('c', 1))).toEqual(new Map([[gpu, undefined]]));
  expect(world.manager.podHints(one)).toEqual(new Map([[gpu, undefined]]));
  expect([...world.manager.holders()]).toEqual([]);
  await expect(world.run(one, 'i')).rejects.toThrow('Requested: 2, Available: 0');
  world.release(one);
  expect(world.woken).toEqual(['uid-two']);
  expect(world.manager.waitingFor(two)).toBeUndefined();
  expect(await world.admit(two)).toBeUndefined();
  await world.stop();
});

test('pods that the runtime has not reported yet may use unknown devices', async () => {
  const world = await stoppedWorld();
  world.files.clear();
  world.isInspected = false;
  world.onList = () => {
    throw new Error('the runtime is down');
  };
  world.pods.set(podUid(podNamed('one')), podNamed('one'));
  await world.boot();
  await world.register('a.sock');
  await world.clock.advance(5_000);
  const two = wanting('two', 1);
  world.pods.set(podUid(two), two);
  expect(world.manager.waitingFor(two)?.message).toContain('it is unknown which devices');
  world.isInspected = true;
  await world.clock.advance(5_000);
  // The pod runs, and which devices it uses was lost.
  expect(world.manager.waitingFor(two)?.message).toContain('it is unknown which devices');
  world.release(podNamed('one'));
  expect(world.manager.waitingFor(two)).toBeUndefined();
  await world.stop();
});

test('a pod that runs is not rejected because the checkpoint cannot be written', async () => {
  const world = await stoppedWorld();
  await world.boot();
  world.onFile = () => Promise.reject(new Error('no space left on device'));
  await world.register('a.sock');
  world.release(wanting('ended', 1));
  await world.clock.advance(1_000);
  expect(await world.admit(podNamed('one'))).toBeUndefined();
  const message = 'failed to write checkpoint file "kubelet_internal_checkpoint": no space left on device';
  expect(await world.admit(wanting('two', 1))).toContain(message);
  await world.stop();
});

test('a new node gives devices away before its sources are ready', async () => {
  const world = await newWorld();
  world.sourcesReady = false;
  expect(world.manager.resetExtendedResources()).toBe(true);
  expect(await world.admit(wanting('one', 1))).toBeUndefined();
  await world.stop();
  await world.boot();
  expect(world.manager.resetExtendedResources()).toBe(false);
  await world.stop();
});

test('after a damaged checkpoint a pod waits for the plugin of every resource that the Node has', async () => {
  const world = await newWorld();
  await world.stop();
  for (const path of world.files.keys()) world.files.set(path, 'x');
  world.advertised.add(gpu);
  await world.boot();
  const pod = wanting('one', 1);
  expect(world.manager.waitingFor(wanting('other', 1, {}, 'example.com/by-hand'))).toBeUndefined();
  expect(world.manager.waitingFor(pod)?.message).toBe(
    `device plugin of resource "${gpu}" has not registered yet`,
  );
  await world.clock.advance(120_000);
  expect(world.manager.waitingFor(pod)).toBeUndefined();
  await world.stop();
});

test('a node whose plugins never registered keeps the extended resources of its Node object', async () => {
  const world = await newWorld();
  await world.stop();
  world.isUnused = false;
  world.files.clear();
  await world.boot();
  expect(world.manager.resetExtendedResources()).toBe(false);
  await world.stop();
});

test('a kubelet that lost nothing gives devices away before its sources are ready', async () => {
  const world = await stoppedWorld();
  world.sourcesReady = false;
  await world.boot();
  await world.register('a.sock');
  expect(world.events).toEqual([]);
  expect(await world.admit(wanting('two', 1))).toBeUndefined();
  await world.stop();
});
