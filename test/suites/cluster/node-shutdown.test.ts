// The shutdown of the machine, on a whole kubelet: what the API server, the pods and the node see of it.
import { describe, expect, test } from 'vitest';
import { ContainerState } from '../../../src/api/cri/generated/runtime/v1/api.ts';
import type { NodeCondition, Pod } from '../../../src/api/k8s/types.ts';
import { Duration } from '../../../src/config/duration.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { type ClusterWorld, readyOf, startCluster } from '../../simulate/cluster-world.ts';
import type { FakeNodeOptions } from '../../simulate/fake-node.ts';

const second = 1_000_000_000n;
const config: FakeNodeOptions['config'] = {
  shutdownGracePeriod: new Duration(30n * second),
  shutdownGracePeriodCriticalPods: new Duration(10n * second),
};
const message = 'Pod was terminated in response to imminent node shutdown.';
const critical = { priority: 2_000_001_000 };
const obeysTerm = [aContainer({ command: ['sh', '-c', "trap 'exit 0' TERM; while true; do sleep 1; done"] })];
const ignoresTerm = [aContainer({ command: ['sh', '-c', "trap '' TERM; while true; do sleep 1; done"] })];

async function startNode(options: FakeNodeOptions = {}): Promise<ClusterWorld> {
  const world = await startCluster({ ...options, config: { ...config, ...options.config } });
  world.node.logind.onProceed = () => void proceeded.set(world, world.node.clock.monotonic());
  return world;
}
/** When the shutdown proceeded, by the monotonic clock. */
const proceeded = new WeakMap<ClusterWorld, number>();

function readyCondition(world: ClusterWorld): NodeCondition | undefined {
  return world.nodeObject()?.status?.conditions?.find(({ type }) => type === 'Ready');
}

function events(world: ClusterWorld, reason: string): readonly (string | undefined)[] {
  return world.api.objects
    .list('events')
    .flatMap((event) => (event.reason === reason ? [event.message] : []));
}

function running(world: ClusterWorld): readonly string[] {
  const { cri } = world.node;
  return cri
    .containers()
    .flatMap(({ id, state }) => (state === ContainerState.CONTAINER_RUNNING ? [id] : []));
}

const condition = (pod: Pod | undefined, type: string) =>
  pod?.status?.conditions?.find((each) => each.type === type);

test('pods end in order with their status before the shutdown proceeds, and the node is not ready', async () => {
  const world = await startNode();
  const { logind } = world.node;
  expect([logind.raised, logind.locks, readyOf(world.nodeObject()?.status)]).toEqual([[30], 1, 'True']);
  world.run('web', { containers: ignoresTerm, terminationGracePeriodSeconds: 300 });
  world.run('proxy', { ...critical, containers: obeysTerm });
  world.node.write('static.yaml', aPod({ name: 'static', containers: obeysTerm, ...critical }));
  await world.advance(3_000);
  const startedMs = world.node.clock.monotonic();
  logind.prepare(true);
  await world.advance(1_000);
  expect(readyCondition(world)).toMatchObject({
    status: 'False',
    reason: 'KubeletNotReady',
    message: 'node is shutting down',
  });
  expect(world.node.explanation(world.pod('web')?.metadata?.uid ?? '')).toBe(
    `terminating: Terminated: ${message}, 19 of 20 s of grace left`,
  );
  expect(world.phase('proxy')).toBe('Running');
  world.run('late');
  await world.advance(1_000);
  expect(world.pod('late')?.status).toMatchObject({
    phase: 'Failed',
    reason: 'NodeShutdown',
    message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
  });
  await world.advance(30_000);
  for (const name of ['web', 'proxy', 'static-n']) {
    const pod = world.pod(name);
    expect(pod?.status, name).toMatchObject({ phase: 'Failed', reason: 'Terminated', message });
    expect(condition(pod, 'DisruptionTarget'), name).toMatchObject({
      status: 'True',
      reason: 'TerminationByKubelet',
      message,
    });
  }
  const tookMs = (proceeded.get(world) ?? Number.NaN) - startedMs;
  expect(tookMs).toBeGreaterThan(20_000);
  expect(tookMs).toBeLessThan(22_000);
  expect(events(world, 'Shutdown')).toEqual(['Shutdown manager detected shutdown event']);
  // Until the machine is off the lease is renewed, and no pod runs again.
  const renewals = (): number =>
    world.api.requestLines().filter((line) => / leases .*\/n$/.test(line)).length;
  const renewed = renewals();
  await world.advance(30_000);
  expect(renewals()).toBeGreaterThan(renewed);
  expect(world.node.calls().filter((call) => call === 'StartContainer')).toHaveLength(3);
});

test('a cancellation while pods are being killed leaves the others running, and the node is ready again', async () => {
  const world = await startNode();
  world.run('web', { containers: ignoresTerm });
  world.run('proxy', critical);
  await world.advance(3_000);
  world.node.logind.prepare(true);
  await world.advance(5_000);
  world.node.logind.prepare(false);
  await world.advance(1_000);
  expect(readyCondition(world)).toMatchObject({ status: 'True', reason: 'KubeletReady' });
  expect(events(world, 'Shutdown')).toContain('Shutdown manager detected shutdown cancellation');
  world.run('next');
  await world.advance(60_000);
  expect(['web', 'proxy', 'next'].map((name) => world.phase(name))).toEqual(['Failed', 'Running', 'Running']);
  expect([world.node.logind.locks, proceeded.get(world)]).toEqual([1, undefined]);
});

test('an unreachable API server delays the shutdown by five seconds at most', async () => {
  const world = await startNode();
  world.run('web', { containers: obeysTerm });
  await world.advance(3_000);
  world.api.faults.goDown();
  const startedMs = world.node.clock.monotonic();
  world.node.logind.prepare(true);
  await world.advance(40_000);
  expect((proceeded.get(world) ?? Number.NaN) - startedMs).toBeLessThan(7_000);
  world.api.faults.comeUp();
});

test('an API server that does not answer delays neither the pods nor, by more than five seconds, the shutdown', async () => {
  const world = await startNode();
  world.run('web', { containers: obeysTerm });
  world.run('proxy', { ...critical, containers: obeysTerm });
  await world.advance(3_000);
  const stalls = ['pods', 'nodes', 'events'].map((resource) => world.api.faults.stall({ resource }));
  const startedMs = world.node.clock.monotonic();
  world.node.logind.prepare(true);
  await world.advance(40_000);
  expect((proceeded.get(world) ?? Number.NaN) - startedMs).toBeLessThan(8_000);
  expect(running(world)).toEqual([]);
  for (const stall of stalls) stall.remove();
  await world.advance(30_000);
  expect(['web', 'proxy'].map((name) => world.phase(name))).toEqual(['Failed', 'Failed']);
  expect(readyOf(world.nodeObject()?.status)).toBe('False');
});

test('pods end whatever they are doing when the shutdown begins', async () => {
  const world = await startNode();
  const preStop = { exec: { command: ['sleep', '1000'] } };
  world.run('initializing', { initContainers: [aContainer({ name: 'init', command: ['sleep', '1000'] })] });
  world.run('impatient', { containers: ignoresTerm, terminationGracePeriodSeconds: 0 });
  world.run('hooked', { containers: [aContainer({ lifecycle: { preStop } })] });
  world.run('deleted', { containers: ignoresTerm, terminationGracePeriodSeconds: 300 });
  world.run('done', { containers: [aContainer({ command: ['true'] })], restartPolicy: 'Never' });
  await world.advance(5_000);
  expect(world.phase('done')).toBe('Succeeded');
  world.delete('deleted');
  await world.advance(1_000);
  const startedMs = world.node.clock.monotonic();
  world.node.logind.prepare(true);
  await world.advance(4_000);
  expect(world.phase('impatient')).toBe('Failed');
  expect(world.pod('deleted')).toBeDefined();
  await world.advance(36_000);
  expect((proceeded.get(world) ?? Number.NaN) - startedMs).toBeLessThan(25_000);
  expect(running(world)).toEqual([]);
  for (const name of ['initializing', 'impatient', 'hooked'])
    expect(world.pod(name)?.status, name).toMatchObject({ phase: 'Failed', reason: 'Terminated', message });
  // The shutdown shortened its grace period.
  expect(world.pod('deleted')).toBeUndefined();
  expect(world.pod('done')?.status).toMatchObject({ phase: 'Succeeded' });
  expect(world.pod('done')?.status?.reason).toBeUndefined();
});

test('after the reboot static pods run again, pods of the API server stay as they ended', async () => {
  const world = await startNode();
  world.run('web', { containers: obeysTerm });
  world.node.write('static.yaml', aPod({ name: 'static', containers: obeysTerm, ...critical }));
  await world.advance(5_000);
  world.node.logind.prepare(true);
  await world.advance(20_000);
  expect(proceeded.has(world)).toBe(true);
  const { cri, clock, logind } = world.node;
  await world.node.kill();
  const { items } = await clock.until(cri.listPodSandbox({}));
  for (const { id } of items) cri.killSandbox(id);
  logind.isPreparing = false;
  await world.node.start();
  world.run('next');
  await world.advance(20_000);
  expect(['web', 'static-n', 'next'].map((name) => world.phase(name))).toEqual([
    'Failed',
    'Running',
    'Running',
  ]);
  const mirror = world.pod('static-n')?.status;
  expect([mirror?.reason, mirror?.message, readyOf(mirror)]).toEqual([undefined, undefined, 'True']);
  expect([readyOf(world.nodeObject()?.status), logind.locks]).toEqual(['True', 1]);
});

test('a kubelet that is killed in the middle is succeeded by one that continues', async () => {
  const world = await startNode();
  world.run('web', { containers: ignoresTerm });
  world.run('proxy', { ...critical, containers: ignoresTerm });
  await world.advance(3_000);
  const { node } = world;
  node.logind.prepare(true);
  await world.advance(5_000);
  await node.kill();
  expect(node.logind.locks).toBe(0);
  await node.start();
  await world.advance(1_000);
  expect(readyOf(world.nodeObject()?.status)).toBe('False');
  world.run('late');
  await world.advance(60_000);
  expect(world.pod('late')?.status?.reason).toBe('NodeShutdown');
  for (const name of ['web', 'proxy'])
    expect(world.pod(name)?.status, name).toMatchObject({ phase: 'Failed', reason: 'Terminated' });
  // The next boot: nothing of it is left.
  await node.stop();
  node.logind.isPreparing = false;
  await node.start();
  world.run('fresh');
  await world.advance(5_000);
  expect([world.phase('fresh'), readyOf(world.nodeObject()?.status), node.logind.locks]).toEqual([
    'Running',
    'True',
    1,
  ]);
});

describe('settings', () => {
  test('without periods or without the gate, logind is left alone', async () => {
    const off = await startCluster();
    expect(off.node.logind.connects).toBe(0);
    const gated = await startNode({ gates: { GracefulNodeShutdown: false } });
    expect(gated.node.logind.connects).toBe(0);
  });

  test('the periods by priority count only with their gate', async () => {
    const byPriority = {
      shutdownGracePeriod: new Duration(0n),
      shutdownGracePeriodCriticalPods: new Duration(0n),
      shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 12 }],
    };
    const on = await startNode({ config: byPriority });
    expect(on.node.logind.raised).toEqual([12]);
    const gates = { GracefulNodeShutdownBasedOnPodPriority: false };
    const off = await startNode({ config: byPriority, gates });
    expect(off.node.logind.connects).toBe(0);
  });

  test('the node starts without logind', async () => {
    const world = await startCluster({ config }, ({ node }) => {
      node.logind.isAbsent = true;
    });
    world.run('web');
    await world.advance(5_000);
    expect(world.phase('web')).toBe('Running');
  });
});
