// Interrupted starts, on the fake clock: a pod deleted while it starts, and a container whose task the runtime has lost
// and cannot remove.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ContainerStatus } from '../../../src/api/k8s/types.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const own = (uid = 'uid-p'): ContainerStatus | undefined => node.status(uid)?.containerStatuses?.[0];
const callCount = (method: string): number => node.cri.calls.filter((each) => each.method === method).length;
const errors = (): readonly string[] => node.log.filter((line) => line.startsWith('E'));
const attempts = async (): Promise<readonly number[]> =>
  (await node.cri.listContainers({})).containers
    .map(({ metadata }) => metadata?.attempt ?? -1)
    .toSorted((a, b) => a - b);

describe('a pod deleted during a CRI call', () => {
  for (const method of ['runPodSandbox', 'createContainer', 'startContainer'] as const) {
    test(`waits for ${method} to finish`, async () => {
      node.cri.faults.latency(method, 500);
      node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 1 }));
      await node.clock.advance(200);
      node.remove('p.yaml');
      await node.clock.advance(3_000);
      expect(node.cri.calls.filter(({ error }) => error !== undefined)).toEqual([]);
      expect([(await node.cri.listPodSandbox({})).items, errors()]).toEqual([[], []]);
    });
  }

  test('aborts a hung call after two seconds', async () => {
    node.cri.faults.stall('startContainer');
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 1 }));
    await node.clock.advance(200);
    node.remove('p.yaml');
    await node.clock.advance(1_900);
    expect(callCount('StopPodSandbox')).toBe(0);
    await node.clock.advance(2_000);
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
  });
});

describe('a container that never ran and cannot be removed', () => {
  test('is replaced by another one, which does not count as a restart', async () => {
    node.cri.loseStart('c');
    node.write('p.yaml', aPod());
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ restartCount: 0, ready: true, lastState: {} });
    expect(await attempts()).toEqual([0, 1]);
    expect(node.logged('refuses to remove')).toHaveLength(1);
  });

  test('is replaced under restartPolicy Never', async () => {
    node.cri.loseStart('c');
    node.write(
      'p.yaml',
      aPod({ restartPolicy: 'Never', containers: [aContainer({ command: ['sh', '-c', 'sleep 5'] })] }),
    );
    await node.clock.advance(20_000);
    expect(node.status('uid-p')?.phase).toBe('Succeeded');
  });

  test('does not reset restart counts, and its removal is retried once a minute without an error', async () => {
    node.cri.loseStart('c');
    node.write('p.yaml', aPod());
    await node.clock.advance(3_000);
    node.cri.exitContainer('c', 1);
    await node.clock.advance(30_000);
    node.cri.exitContainer('c', 1);
    await node.clock.advance(60_000);
    expect(own()).toMatchObject({ restartCount: 2, ready: true, lastState: { terminated: { exitCode: 1 } } });
    expect(await attempts()).toEqual([0, 2, 3]);
    const before = callCount('RemoveContainer');
    await node.clock.advance(600_000);
    expect(callCount('RemoveContainer') - before).toBeLessThanOrEqual(10);
    // Of the lost start only.
    expect(errors()).toHaveLength(1);
  });

  test('shares the log of its replacement, which stays as long as that container', async () => {
    node.cri.loseStart('c');
    node.write('p.yaml', aPod());
    await node.clock.advance(3_000);
    const { logPath } = node.cri.container('c');
    node.files.set(logPath, 'final output');
    node.cri.exitContainer('c', 1);
    await node.clock.advance(200_000);
    expect(own()?.restartCount).toBe(1);
    expect(callCount('RemoveContainer')).toBeGreaterThan(1);
    expect(node.files.get(logPath)).toBe('final output');
    // With the next exit it is no longer the previous container.
    node.cri.exitContainer('c', 1);
    await node.clock.advance(200_000);
    expect(own()?.restartCount).toBe(2);
    expect(node.files.get(logPath)).toBeUndefined();
  });

  test('does not delay the end of its pod or a pod of the same name, and is removed after a restart of the runtime', async () => {
    node.cri.loseStart('c');
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 1 }));
    await node.clock.advance(3_000);
    node.write('p.yaml', aPod({ uid: 'uid-next', terminationGracePeriodSeconds: 1 }));
    await node.clock.advance(5_000);
    expect(own('uid-next')).toMatchObject({ ready: true });
    expect(node.status('uid-p')).toBeUndefined();
    expect([...node.directories].filter((each) => each.includes('uid-p'))).toEqual([]);
    expect((await node.cri.listPodSandbox({})).items).toHaveLength(2);
    node.cri.faults.restart({ downMs: 1_000 });
    await node.clock.advance(130_000);
    expect((await node.cri.listPodSandbox({})).items).toHaveLength(1);
    expect(own('uid-next')).toMatchObject({ restartCount: 0, ready: true });
  });

  test('does not prevent the same pod from being created again', async () => {
    node.cri.loseStart('c');
    const pod = aPod({ terminationGracePeriodSeconds: 1 });
    node.write('p.yaml', pod);
    await node.clock.advance(3_000);
    node.remove('p.yaml');
    await node.clock.advance(5_000);
    node.write('p.yaml', pod);
    await node.clock.advance(5_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 0 });
  });
});
