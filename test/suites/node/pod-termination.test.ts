// Termination of pods, on the fake clock: deletion, kills by the node, deadlines, shortened grace periods, hooks,
// order.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Container, Pod } from '../../../src/api/k8s/types.ts';
import { asPodUid } from '../../../src/api/pod/pod-ref.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const polite = { command: ['sh', '-c', 'trap "exit 0" TERM; while true; do sleep 1; done'] };
const stubborn = aContainer({ command: ['sh', '-c', 'trap "" TERM; sleep 100000'] });
const deleted = (pod: Pod, graceSeconds: number): Pod => ({
  ...pod,
  metadata: {
    ...pod.metadata,
    deletionTimestamp: '2026-11-15T12:00:00Z',
    deletionGracePeriodSeconds: graceSeconds,
  },
});
const lifecycle = (): unknown => node.stores.lifecycles.get(asPodUid('uid-p'));
const stops = (): readonly unknown[] =>
  node.cri.calls
    .filter(({ method }) => method === 'StopContainer')
    .map(({ request }) => Number((request as { timeout?: bigint }).timeout));
const running = async (): Promise<number> =>
  (await node.cri.listContainers({ filter: { state: { state: 1 } } })).containers.length;

async function up(over: PodOver = {}): Promise<Pod> {
  const pod = aPod(over);
  node.setApiPods(pod);
  await node.clock.advance(100);
  expect(await running()).toBeGreaterThan(0);
  return pod;
}

describe('a pod of the API server', () => {
  test('ends with the grace period of its deletion, is cleaned up, and is forgotten when its object is gone', async () => {
    const pod = await up({ containers: [stubborn] });
    node.setApiPods(deleted(pod, 8));
    await node.clock.advance(1_000);
    expect(lifecycle()).toMatchObject({ state: 'terminating', graceSeconds: 8, why: 'the pod was deleted' });
    await node.clock.advance(8_000);
    expect([stops(), await running()]).toEqual([[8], 0]);
    expect(lifecycle()).toMatchObject({ state: 'terminated', cleaned: true });
    expect((await node.cri.listContainers({})).containers).toHaveLength(1);
    node.setApiPods();
    await node.clock.advance(1_000);
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
    expect(lifecycle()).toBeUndefined();
  });

  test('shortens a stop in flight by a shorter grace period, and ignores a longer one', async () => {
    const pod = await up({ containers: [stubborn] });
    node.setApiPods(deleted(pod, 300));
    await node.clock.advance(5_000);
    node.setApiPods(deleted(pod, 600));
    await node.clock.advance(5_000);
    expect(stops()).toEqual([300]);
    node.setApiPods(deleted(pod, 3));
    await node.clock.advance(1_000);
    expect(stops()).toEqual([300, 3]);
    expect(await running()).toBe(1);
    await node.clock.advance(3_000);
    expect(await running()).toBe(0);
    expect(lifecycle()).toMatchObject({ state: 'terminated', cleaned: true });
  });

  test('ends at once without a CRI call if it is deleted before its start', async () => {
    const pod = aPod();
    node.setApiPods(deleted(pod, 30));
    await node.clock.advance(1_500);
    expect(node.calls()).toEqual([]);
    expect(lifecycle()).toMatchObject({ state: 'terminated', cleaned: true });
  });

  test('does not wait for an image pull if it is deleted meanwhile', async () => {
    node.cri.faults.stall('pullImage');
    const pod = aPod({ containers: [aContainer({ image: 'docker.io/library/never:1' })] });
    node.setApiPods(pod);
    await node.clock.advance(2_000);
    node.setApiPods(deleted(pod, 30));
    await node.clock.advance(1_000);
    expect(lifecycle()).toMatchObject({ state: 'terminated', cleaned: true });
  });

  test('is not started if it is already finished when the kubelet first sees it', async () => {
    node.setApiPods({ ...aPod(), status: { phase: 'Succeeded' } });
    await node.clock.advance(2_000);
    expect(node.calls()).toEqual([]);
    expect(lifecycle()).toMatchObject({ state: 'terminated', cleaned: true });
  });

  test('does not wait for a terminating pod of the same name', async () => {
    const pod = await up({ uid: 'one', containers: [stubborn] });
    node.setApiPods(deleted(pod, 100), aPod({ uid: 'two' }));
    await node.clock.advance(1_000);
    expect(await running()).toBe(2);
  });
});

describe('a pod killed by the node', () => {
  const evicted = { reason: 'Evicted', message: 'The node was low on resource: memory.', graceSeconds: 4 };

  test('is Failed with the reason and not restarted, and the kill resolves when it has ended', async () => {
    await up({ containers: [stubborn] });
    let resolved = false;
    const kill = node.killPod('uid-p', evicted).then(() => (resolved = true));
    await node.clock.advance(2_000);
    expect(resolved).toBe(false);
    expect(node.status('uid-p')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    await node.clock.advance(4_000);
    await kill;
    expect(stops()).toEqual([4]);
    expect(lifecycle()).toMatchObject({ state: 'terminated', cleaned: true, kill: evicted });
    await node.clock.advance(120_000);
    expect(await running()).toBe(0);
    expect(node.status('uid-p')).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message: evicted.message,
    });
  });

  test('stays down until the kubelet restarts if it is static', async () => {
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(100);
    await node.clock.until(node.killPod('uid-p', evicted), 10_000);
    await node.clock.advance(120_000);
    expect(await running()).toBe(0);
  });

  test('a kill with a shorter grace period overtakes a deletion, resolves at once for an unknown pod, and rejects when the kubelet stops', async () => {
    const pod = await up({ containers: [stubborn] });
    node.setApiPods(deleted(pod, 300));
    await node.clock.advance(1_000);
    await node.clock.until(node.killPod('uid-p', { ...evicted, graceSeconds: 2 }), 10_000);
    expect(stops()).toEqual([300, 2]);
    await node.killPod('uid-unknown', evicted);
    await node.killPod('uid-p', evicted);
    node.setApiPods(aPod({ uid: 'q', name: 'q', containers: [stubborn] }));
    await node.clock.advance(1_000);
    const kill = node.killPod('q', { ...evicted, graceSeconds: 300 });
    const rejected = expect(kill).rejects.toThrow('the kubelet stops');
    await node.stop();
    await rejected;
    await node.start();
  });
});

describe('activeDeadlineSeconds', () => {
  const message = 'Pod was active on the node longer than the specified deadline';

  test('ends the pod once, with its reason', async () => {
    await up({ activeDeadlineSeconds: 30, terminationGracePeriodSeconds: 2 });
    await node.clock.advance(29_000);
    expect(await running()).toBe(1);
    await node.clock.advance(10_000);
    expect(await running()).toBe(0);
    expect(node.status('uid-p')).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded', message });
    expect(node.eventLines('uid-p').filter((each) => each.startsWith('Deadline'))).toEqual([
      `DeadlineExceeded: ${message}`,
    ]);
  });

  test('continues over a restart of the kubelet, and ignores steps of the wall clock', async () => {
    node.write('p.yaml', aPod({ activeDeadlineSeconds: 60, terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(20_000);
    await node.kill();
    await node.clock.advance(20_000);
    await node.start();
    await node.clock.advance(2_000);
    node.clock.stepWall(3_600_000);
    await node.clock.advance(10_000);
    expect(await running()).toBe(1);
    await node.clock.advance(10_000);
    expect(await running()).toBe(0);
  });
});

describe('order of a termination', () => {
  const hook = (name: string, seconds: number, over: Partial<Container> = {}): Container =>
    aContainer({ name, lifecycle: { preStop: { exec: { command: ['sleep', String(seconds)] } } }, ...over });

  test('hooks count towards the grace period, and sidecars end last', async () => {
    const side = aContainer({ name: 's', restartPolicy: 'Always', ...polite });
    await up({
      terminationGracePeriodSeconds: 20,
      initContainers: [side],
      containers: [hook('c', 5, polite)],
    });
    await node.clock.advance(3_000);
    const pod = node.stores.desired.get(asPodUid('uid-p'))?.pod ?? aPod();
    node.setApiPods(deleted(pod, 20));
    await node.clock.advance(4_000);
    expect(stops()).toEqual([]);
    await node.clock.advance(10_000);
    expect(stops()).toEqual([15, 15]);
    const order = node.calls().filter((call) => call === 'ExecSync' || call.startsWith('Stop'));
    expect(order).toEqual(['ExecSync', 'StopContainer', 'StopContainer', 'StopPodSandbox']);
    expect(lifecycle()).toMatchObject({ state: 'terminated', cleaned: true });
  });

  test.each([3_600_000, -3_600_000])('a step of the wall clock by %i ms changes nothing', async (stepMs) => {
    const pod = await up({ terminationGracePeriodSeconds: 20, containers: [hook('c', 5, stubborn)] });
    node.setApiPods(deleted(pod, 20));
    await node.clock.advance(2_000);
    node.clock.stepWall(stepMs);
    await node.clock.advance(4_000);
    expect([stops(), await running()]).toEqual([[15], 1]);
    node.clock.stepWall(stepMs);
    await node.clock.advance(13_000);
    expect(await running()).toBe(1);
    await node.clock.advance(4_000);
    expect(await running()).toBe(0);
  });

  test('a hung hook ends with the grace period', async () => {
    const pod = await up({ terminationGracePeriodSeconds: 6, containers: [hook('c', 10_000)] });
    node.setApiPods(deleted(pod, 6));
    await node.clock.advance(9_000);
    expect(stops()).toEqual([2]);
    expect(await running()).toBe(0);
  });

  test('a failed stop is reported and retried, and nothing is torn down before', async () => {
    const pod = await up();
    const refused = new KubeletError('internal', 'UNKNOWN', 'no such shim');
    node.cri.faults.fail('stopContainer', refused, { times: 2 });
    node.setApiPods(deleted(pod, 2));
    await node.clock.advance(200);
    expect(lifecycle()).toMatchObject({ state: 'terminating' });
    await node.clock.advance(10_000);
    expect(lifecycle()).toMatchObject({ state: 'terminated', cleaned: true });
    expect(node.eventLines('uid-p')).toContain('FailedKillPod: error killing pod: no such shim');
  });

  test('a pod removed while the kubelet was down runs the hook of its container label', async () => {
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 3, containers: [hook('c', 1)] }));
    await node.clock.advance(100);
    await node.stop();
    node.remove('p.yaml');
    await node.start();
    await node.clock.advance(10_000);
    expect(node.calls().filter((call) => call === 'ExecSync')).toHaveLength(1);
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
  });
});
