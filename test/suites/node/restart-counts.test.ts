// Restart counts over kubelets that are killed in the middle of a start, on the fake clock: only a container that ran and ended
// makes the count rise.
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

/** As containerd: a start makes the log file, whatever outcome of the start. */
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

/** Kills the kubelet in the middle of the container's start, and waits until the runtime has given the start up. */
const cutStart = async (): Promise<void> => {
  node.cri.holdStart('c');
  run();
  await node.clock.advance(500);
  await node.kill();
  await node.clock.advance(1_000);
};
/** Starts a kubelet and kills it after it has removed the container of the start that was cut off. */
const removeAndDie = async (): Promise<void> => {
  const stall = node.cri.faults.stall('createContainer');
  await node.start();
  await node.clock.advance(1_000);
  expect([stall.waiting, await held()]).toEqual([1, 0]);
  await node.kill();
  stall.release();
};

describe('a kubelet killed in the middle of a start', () => {
  test('the container is made again with the same count', async () => {
    await cutStart();
    await node.start();
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
  });

  test('and killed again after it has removed what was left: the log file is no restart', async () => {
    await cutStart();
    await removeAndDie();
    await node.start();
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
    expect(logs().filter((path) => path.includes('/pods/'))).toEqual([
      '/var/log/pods/default_p-n_uid-p/c/0.log',
    ]);
  });

  test('however often', async () => {
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
    test(`the runtime still works on the start, which ends as ${outcome}: killed meanwhile, and no restart`, async () => {
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

  test('its definition changed: the container that is being started is replaced, and no restart', async () => {
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

  test('an init container of a sandbox that died meanwhile: no restart', async () => {
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

  test('after a crash: that one counts, the start that was cut off does not', async () => {
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

test('a sandbox that dies before the container starts: nothing ran, and nothing counts', async () => {
  const stall = node.cri.faults.stall('startContainer');
  run({ restartPolicy: 'Never' });
  await node.clock.advance(500);
  for (const { id } of (await node.cri.listPodSandbox({})).items) node.cri.killSandbox(id);
  stall.release();
  await node.clock.advance(20_000);
  expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
});

describe('what ran counts', () => {
  test('a crash while there is no kubelet', async () => {
    run();
    await node.clock.advance(3_000);
    await node.kill();
    node.cri.exitContainer('c', 3);
    await node.clock.advance(1_000);
    await node.start();
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 3 } } });
  });

  test('a container of which only its log is left, also an empty one', async () => {
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

  test('a command that cannot be started, each time', async () => {
    run({ containers: [aContainer({ command: ['/no/such/binary'] })] });
    await node.clock.advance(40_000);
    expect(own()?.restartCount).toBeGreaterThan(1);
  });
});
