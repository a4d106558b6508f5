// Restarts of the kubelet, on the fake clock: killed at any moment, it reaches the same state.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const started = ['RunPodSandbox', 'CreateContainer', 'StartContainer'];
const restarts = (uid: string): number | undefined => node.status(uid)?.containerStatuses?.[0]?.restartCount;
const crashing = (code = 1): ReturnType<typeof aContainer> =>
  aContainer({ command: ['sh', '-c', `exit ${code}`] });

describe('a restarted kubelet', () => {
  test('keeps the start time, although the sandbox was created in a later second', async () => {
    node.cri.faults.latency('runPodSandbox', 2_500);
    node.write('p.yaml', aPod());
    await node.clock.advance(5_000);
    const before = node.status('uid-p')?.startTime;
    await node.kill();
    await node.start();
    await node.clock.advance(1_500);
    expect(before).toBeDefined();
    expect(node.status('uid-p')?.startTime).toBe(before);
  });

  test('keeps containers and restart counts, and creates nothing twice', async () => {
    node.write('a.yaml', aPod({ name: 'a', containers: [aContainer(), aContainer({ name: 'd' })] }));
    node.write('b.yaml', aPod({ name: 'b', containers: [crashing()] }));
    await node.clock.advance(5_000);
    const before = node.status('uid-a');
    const crashed = restarts('uid-b');
    const calls = node.calls().length;
    await node.kill();
    await node.start();
    await node.clock.advance(1_500);
    // Without an API server, transition times of conditions are not persisted.
    const { conditions: _, ...rest } = node.status('uid-a') ?? {};
    const { conditions: __, ...restBefore } = before ?? {};
    expect(rest).toEqual(restBefore);
    expect(restarts('uid-b')).toBeGreaterThanOrEqual(crashed ?? 0);
    expect(
      node.cri.calls
        .slice(calls)
        .filter(({ request }) => JSON.stringify(request, bigintText).includes('uid-a')),
    ).toEqual([]);
  });

  test('reaches the same state after a kill at any moment of a start', async () => {
    node.cri.faults.latency('runPodSandbox', 40);
    node.cri.faults.latency('createContainer', 20);
    node.cri.faults.latency('startContainer', 30);
    for (let afterMs = 0; afterMs <= 120; afterMs += 5) {
      const name = `k${afterMs}`;
      node.write(`${name}.yaml`, aPod({ name }));
      await node.clock.advance(afterMs);
      await node.kill();
      await node.start();
      await node.clock.advance(3_000);
      expect(node.status(`uid-${name}`)?.containerStatuses?.[0]).toMatchObject({
        restartCount: 0,
        ready: true,
      });
      const labelSelector = { 'io.kubernetes.pod.uid': `uid-${name}` };
      expect((await node.cri.listContainers({ filter: { labelSelector } })).containers, name).toHaveLength(1);
      expect((await node.cri.listPodSandbox({ filter: { labelSelector } })).items, name).toHaveLength(1);
    }
  });

  test('leaves nothing behind after a kill at any moment of a removal', async () => {
    node.cri.faults.latency('stopContainer', 20);
    node.cri.faults.latency('stopPodSandbox', 20);
    node.cri.faults.latency('removeContainer', 20);
    node.cri.faults.latency('removePodSandbox', 20);
    for (let afterMs = 0; afterMs <= 160; afterMs += 10) {
      const pod = aPod({ name: `k${afterMs}`, terminationGracePeriodSeconds: 2 });
      node.write('p.yaml', pod);
      await node.clock.advance(2_000);
      node.remove('p.yaml');
      await node.clock.advance(afterMs);
      await node.kill();
      await node.start();
      await node.clock.advance(5_000);
      expect((await node.cri.listPodSandbox({})).items, String(afterMs)).toEqual([]);
      expect((await node.cri.listContainers({})).containers).toEqual([]);
      expect(node.directories).toEqual(new Set());
    }
  });

  test('has removed everything of a pod when its last sandbox is gone', async () => {
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(50);
    node.cri.faults.stall('removePodSandbox', { when: 'after' });
    node.remove('p.yaml');
    await node.clock.advance(5_000);
    // The next kubelet would not know of this pod and could not clean up after it.
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
    expect([node.directories.size, node.cgroups.calls.filter((call) => call.startsWith('remove'))]).toEqual([
      0,
      ['remove /kubepods/besteffort/poduid-p'],
    ]);
  });

  test('ends a pod that was removed meanwhile, with the grace period of the container label', async () => {
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 9 }));
    await node.clock.advance(50);
    await node.stop();
    node.remove('p.yaml');
    await node.start();
    await node.clock.advance(15_000);
    expect(node.cri.calls.find(({ method }) => method === 'StopContainer')?.request).toMatchObject({
      timeout: 9n,
    });
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
  });

  test('leaves the containers running at a graceful stop', async () => {
    node.write('p.yaml', aPod());
    await node.clock.advance(50);
    await node.stop();
    expect(node.calls()).toEqual(started);
    expect((await node.cri.listContainers({ filter: { state: { state: 1 } } })).containers).toHaveLength(1);
  });
});

function bigintText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
