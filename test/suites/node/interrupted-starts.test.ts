// Starts that end in the middle, on the fake clock: a pod that is deleted while it starts, and a container that the runtime
// has lost sight of and keeps.
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
const asked = (method: string): number => node.cri.calls.filter((each) => each.method === method).length;
const errors = (): readonly string[] => node.log.filter((line) => line.startsWith('E'));
const attempts = async (): Promise<readonly number[]> =>
  (await node.cri.listContainers({})).containers
    .map(({ metadata }) => metadata?.attempt ?? -1)
    .toSorted((a, b) => a - b);

describe('a pod that has to end while a call for it is under way', () => {
  for (const method of ['runPodSandbox', 'createContainer', 'startContainer'] as const) {
    test(`${method}: the call may finish`, async () => {
      node.cri.faults.latency(method, 500);
      node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 1 }));
      await node.clock.advance(200);
      node.remove('p.yaml');
      await node.clock.advance(3_000);
      expect(node.cri.calls.filter(({ error }) => error !== undefined)).toEqual([]);
      expect([(await node.cri.listPodSandbox({})).items, errors()]).toEqual([[], []]);
    });
  }

  test('a call that hangs is cut off after two seconds', async () => {
    node.cri.faults.stall('startContainer');
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 1 }));
    await node.clock.advance(200);
    node.remove('p.yaml');
    await node.clock.advance(1_900);
    expect(asked('StopPodSandbox')).toBe(0);
    await node.clock.advance(2_000);
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
  });
});

describe('a container that never ran and that the runtime keeps', () => {
  test('another one runs beside it, and that is no restart', async () => {
    node.cri.loseStart('c');
    node.write('p.yaml', aPod());
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ restartCount: 0, ready: true, lastState: {} });
    expect(await attempts()).toEqual([0, 1]);
    expect(node.logged('refuses to remove')).toHaveLength(1);
  });

  test('a pod that is never restarted has not had its chance', async () => {
    node.cri.loseStart('c');
    node.write(
      'p.yaml',
      aPod({ restartPolicy: 'Never', containers: [aContainer({ command: ['sh', '-c', 'sleep 5'] })] }),
    );
    await node.clock.advance(20_000);
    expect(node.status('uid-p')?.phase).toBe('Succeeded');
  });

  test('restarts count on, and what is kept is asked for once a minute and no failure', async () => {
    node.cri.loseStart('c');
    node.write('p.yaml', aPod());
    await node.clock.advance(3_000);
    node.cri.exitContainer('c', 1);
    await node.clock.advance(30_000);
    node.cri.exitContainer('c', 1);
    await node.clock.advance(60_000);
    expect(own()).toMatchObject({ restartCount: 2, ready: true, lastState: { terminated: { exitCode: 1 } } });
    expect(await attempts()).toEqual([0, 2, 3]);
    const before = asked('RemoveContainer');
    await node.clock.advance(600_000);
    expect(asked('RemoveContainer') - before).toBeLessThanOrEqual(10);
    // The start that was lost, and nothing since.
    expect(errors()).toHaveLength(1);
  });

  test('its log is that of the one in its place, and stays as long as that does', async () => {
    node.cri.loseStart('c');
    node.write('p.yaml', aPod());
    await node.clock.advance(3_000);
    const { logPath } = node.cri.container('c');
    node.files.set(logPath, 'last words');
    node.cri.exitContainer('c', 1);
    await node.clock.advance(200_000);
    expect(own()?.restartCount).toBe(1);
    expect(asked('RemoveContainer')).toBeGreaterThan(1);
    expect(node.files.get(logPath)).toBe('last words');
    // The next end makes it the last but one.
    node.cri.exitContainer('c', 1);
    await node.clock.advance(200_000);
    expect(own()?.restartCount).toBe(2);
    expect(node.files.get(logPath)).toBeUndefined();
  });

  test('its pod goes all the same, and a pod of its name does not wait; with the runtime it goes, too', async () => {
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

  test('the same pod may come back', async () => {
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
