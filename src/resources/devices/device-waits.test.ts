import { expect, test } from 'vitest';
import { healthy, unhealthy } from '../../../test/fakes/fake-device-plugins.ts';
import { DeviceWorld, gpu, requesting, wanting } from '../../../test/simulate/device-world.ts';
import { podUid } from '../../api/pod/pod-ref.ts';

/** A kubelet that restarted after a pod got a device; `a.sock` has not registered again. */
async function restarted(): Promise<DeviceWorld> {
  const world = new DeviceWorld();
  await world.boot();
  world.plugins.add('a.sock', healthy('a'), healthy('b'));
  await world.register('a.sock');
  expect(await world.admit(wanting('old', 1))).toBeUndefined();
  await world.stop();
  await world.boot();
  return world;
}

test('a pod waits until its plugin has registered and reported its devices', async () => {
  const world = await restarted();
  const pod = wanting('new', 1);
  const untilMs = world.clock.now() + 120_000;
  expect(world.manager.waitingFor(pod)).toEqual({
    reason: 'WaitingForDevicePlugin',
    message: `device plugin of resource "${gpu}" has not registered yet`,
    untilMs,
  });
  const plugin = world.plugins.add('a.sock');
  await world.register('a.sock');
  expect(world.woken).toEqual(['uid-new']);
  expect(world.manager.waitingFor(pod)).toEqual({
    reason: 'WaitingForDevicePlugin',
    message: `device plugin of resource "${gpu}" has not reported its devices yet`,
    untilMs,
  });
  plugin.send(healthy('a'), healthy('b'));
  await world.clock.settle();
  expect(world.woken).toEqual(['uid-new', 'uid-new']);
  expect(world.manager.waitingFor(pod)).toBeUndefined();
  expect(await world.admit(pod)).toBeUndefined();
  expect(world.idsOf(pod)).toEqual(['b']);
  await world.stop();
});

test('the wait has a deadline from the first question on, then the error of upstream rejects the pod', async () => {
  const world = await restarted();
  const [fresh, old] = [wanting('new', 1), wanting('old', 1)];
  world.manager.waitingFor(fresh);
  await world.clock.advance(60_000);
  expect(world.manager.waitingFor(fresh)?.untilMs).toBe(world.clock.now() + 60_000);
  expect(world.manager.waitingFor(old)?.untilMs).toBe(world.clock.now() + 120_000);
  await world.clock.advance(60_000);
  expect(world.woken).toEqual(['uid-new']);
  expect(world.manager.waitingFor(fresh)).toBeUndefined();
  expect(world.reserve(fresh)).toBe(`no healthy devices present; cannot allocate unhealthy devices ${gpu}`);
  await world.clock.advance(60_000);
  expect(world.woken).toEqual(['uid-new', 'uid-old']);
  await world.clock.advance(300_000);
  expect(world.reserve(old)).toBe(`cannot allocate unregistered device ${gpu}`);
  await world.stop();
});

test('a plugin that reports its devices bit by bit has ten seconds', async () => {
  const world = await restarted();
  const plugin = world.plugins.add('a.sock', healthy('a'));
  await world.register('a.sock');
  const pod = wanting('new', 2);
  expect(world.manager.waitingFor(pod)?.message).toBe(
    `device plugin of resource "${gpu}" has reported 1 healthy devices since it registered, 2 are requested`,
  );
  plugin.send(healthy('a'), healthy('b'), healthy('c'));
  await world.clock.settle();
  expect(world.woken).toEqual(['uid-new']);
  expect(world.manager.waitingFor(pod)).toBeUndefined();
  plugin.send(unhealthy('a'), healthy('b'), healthy('c'));
  await world.clock.settle();
  // The pod that had the device waits for it, too.
  expect(world.manager.waitingFor(wanting('old', 1))).toBeDefined();
  await world.clock.advance(10_000);
  expect(world.woken).toEqual(['uid-new', 'uid-old']);
  expect(world.manager.waitingFor(wanting('old', 1))).toBeUndefined();
  expect(world.reserve(wanting('old', 1))).toBe(
    `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${gpu}`,
  );
  await world.stop();
});

test('a running pod neither waits nor needs its plugin', async () => {
  const world = await restarted();
  const old = wanting('old', 1);
  world.running.set('uid-old c', {});
  expect(world.manager.waitingFor(old)).toBeUndefined();
  expect(await world.admit(old)).toBeUndefined();
  expect(world.idsOf(old)).toEqual(['a']);
  await world.stop();
});

test('a changed request of a pod that has devices is rejected', async () => {
  const world = await restarted();
  expect(world.reserve(wanting('old', 2))).toBe(
    `pod "uid-old" container "c" changed request for resource "${gpu}" from 1 to 2`,
  );
  await world.stop();
});

test('a pod is not rejected while any of its containers runs', async () => {
  const world = await restarted();
  const pod = wanting('old', 1, { containers: [requesting('c', 1), requesting('d', 1)] });
  world.running.set('uid-old d', {});
  expect(world.manager.waitingFor(pod)).toBeUndefined();
  expect(await world.admit(pod)).toBeUndefined();
  await world.register('a.sock');
  // What a container lacks is allocated when it is created.
  expect((await world.run(pod, 'd')).env.get('DEVICES')).toBe('b');
  await world.stop();
});

test('resources that no plugin ever advertised are not waited for', async () => {
  const world = await restarted();
  expect(world.manager.waitingFor(wanting('new', 1, {}, 'example.com/by-hand'))).toBeUndefined();
  await world.stop();
});

test('a released pod leaves no timer behind', async () => {
  const world = await restarted();
  const pod = wanting('new', 1);
  world.manager.waitingFor(pod);
  world.manager.release(podUid(pod));
  await world.clock.advance(200_000);
  expect(world.woken).toEqual([]);
  await world.stop();
  await world.clock.advance(3_000);
  expect(world.clock.pendingTimers()).toBe(0);
});
