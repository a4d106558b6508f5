// Restart counts over kubelets that are killed in the middle of a start, on the fake clock: only a container that ran
// and exited increments the count.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ContainerStatus } from '../../../src/api/k8s/types.ts';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode({ openLog: (path) => openLog(path) });
  await node.start();
});
afterEach(async () => await node.stop());

/** As in containerd, a start creates the log file, whether it succeeds or not. */
const openLog = (path: string): void => {
  if (!node.files.has(path)) node.files.set(path, '');
};
const own = (name = 'c'): ContainerStatus | undefined => {
  const { containerStatuses = [], initContainerStatuses = [] } = node.status('uid-p') ?? {};
  return [...containerStatuses, ...initContainerStatuses].find((each) => each.name === name);
};
const run = (over: PodOver = {}): void =>
  node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 1, ...over }));
const restartKubelet = async (): Promise<void> => {
  await node.kill();
  await node.start();
};
const logs = (): readonly string[] => [...node.files.keys()].filter((path) => path.endsWith('.log'));
const held = async (): Promise<number> => (await node.cri.listContainers({})).containers.length;

/** Kills the kubelet in the middle of the container's start, and waits until the runtime has aborted the start. */
const cutStart = async (): Promise<void> => {
  node.cri.holdStart('c');
  run();
  await node.clock.advance(500);
  await node.kill();
  await node.clock.advance(1_000);
};
/** Starts a kubelet and kills it after it has removed the container of the interrupted start. */
const removeAndDie = async (): Promise<void> => {
  const stall = node.cri.faults.stall('createContainer');
  await node.start();
  await node.clock.advance(1_000);
  expect([stall.waiting, await held()]).toEqual([1, 0]);
  await node.kill();
  stall.release();
};

describe('a kubelet killed in the middle of a start', () => {
  test('creates the container again with the same count', async () => {
    await cutStart();
    await node.start();
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
  });

  test('and again after it has removed the leftover does not count the log file as a restart', async () => {
    await cutStart();
    await removeAndDie();
    await node.start();
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
    expect(logs().filter((path) => path.includes('/pods/'))).toEqual([
      '/var/log/pods/default_p-n_uid-p/c/0.log',
    ]);
  });

  test('repeatedly keeps the count', async () => {
    await cutStart();
    await removeAndDie();
    for (let i = 0; i < 3; i += 1) {
      node.cri.holdStart('c');
      await node.start();
      await node.clock.advance(1_000);
      await node.kill();
      await node.clock.advance(1_000);
      await removeAndDie();
    }
    await node.start();
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
  });

  for (const outcome of ['start-error', 'running'] as const) {
    test(`while the runtime completes the start as ${outcome} counts no restart`, async () => {
      node.cri.holdStart('c', { continuesMs: 5_000, outcome });
      run();
      await node.clock.advance(500);
      await restartKubelet();
      await node.clock.advance(1_500);
      expect(node.logged('already in starting state')).not.toEqual([]);
      await restartKubelet();
      await node.clock.advance(20_000);
      expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
      expect(await held()).toBe(1);
    });
  }

  test('replaces the starting container of a changed spec without counting a restart', async () => {
    node.cri.holdStart('c', { continuesMs: 3_000 });
    run();
    await node.clock.advance(500);
    await node.kill();
    run({ containers: [aContainer({ image: 'docker.io/library/busybox:latest' })] });
    node.cri.addImage({ name: 'docker.io/library/busybox:latest' });
    await node.start();
    await node.clock.advance(2_000);
    expect(node.logged("can't be removed")).not.toEqual([]);
    await node.clock.advance(20_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
  });

  test('counts no restart for an init container of a dead sandbox', async () => {
    node.cri.holdStart('i');
    run({ initContainers: [aContainer({ name: 'i', command: ['true'] })] });
    await node.clock.advance(500);
    await node.kill();
    await node.clock.advance(1_000);
    for (const { id } of (await node.cri.listPodSandbox({})).items) node.cri.killSandbox(id);
    const stall = node.cri.faults.stall('runPodSandbox');
    await node.start();
    await node.clock.advance(1_000);
    expect([stall.waiting, await held()]).toEqual([1, 0]);
    await node.kill();
    stall.release();
    await node.start();
    await node.clock.advance(5_000);
    expect([own()?.ready, own('i')?.restartCount, own('i')?.lastState]).toEqual([true, 0, {}]);
  });

  test('after a crash counts the crash only, not the interrupted start', async () => {
    run();
    await node.clock.advance(3_000);
    node.cri.holdStart('c');
    node.cri.exitContainer('c', 3);
    await node.clock.advance(1_000);
    await node.kill();
    await node.clock.advance(1_000);
    const stall = node.cri.faults.stall('createContainer');
    await node.start();
    await node.clock.advance(15_000);
    expect([stall.waiting, await held()]).toEqual([1, 1]);
    await node.kill();
    stall.release();
    await node.start();
    await node.clock.advance(15_000);
    expect(own()).toMatchObject({
      ready: true,
      restartCount: 1,
      lastState: { terminated: { exitCode: 3 } },
    });
  });
});

test('a sandbox that dies before the container starts counts no restart', async () => {
  const stall = node.cri.faults.stall('startContainer');
  run({ restartPolicy: 'Never' });
  await node.clock.advance(500);
  for (const { id } of (await node.cri.listPodSandbox({})).items) node.cri.killSandbox(id);
  stall.release();
  await node.clock.advance(20_000);
  expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
});

describe('counts a restart for', () => {
  test('a crash while the kubelet is down', async () => {
    run();
    await node.clock.advance(3_000);
    await node.kill();
    node.cri.exitContainer('c', 3);
    await node.clock.advance(1_000);
    await node.start();
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 3 } } });
  });

  test('a container of which only a log is left, even an empty one', async () => {
    run();
    await node.clock.advance(3_000);
    await node.kill();
    for (const { id } of (await node.cri.listContainers({})).containers)
      await node.cri.removeContainer({ containerId: id });
    expect(logs().some((path) => path.endsWith('/c/0.log'))).toBe(true);
    await node.start();
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 1 });
  });

  test('every failed start of a missing command', async () => {
    run({ containers: [aContainer({ command: ['/no/such/binary'] })] });
    await node.clock.advance(40_000);
    expect(own()?.restartCount).toBeGreaterThan(1);
  });
});
