// The lifecycle of a pod through stores, loops and deciders, on the fake clock.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Duration } from '../../src/config/duration.ts';
import { aContainer, aPod } from '../builders/builders.ts';
import { FakeNode } from './fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const started = ['RunPodSandbox', 'CreateContainer', 'StartContainer'];
const containerState = (uid: string, name = 'c'): unknown =>
  node.status(uid)?.containerStatuses?.find((each) => each.name === name)?.state;
const restarts = (uid: string): number | undefined => node.status(uid)?.containerStatuses?.[0]?.restartCount;
const crashing = (code = 1): ReturnType<typeof aContainer> =>
  aContainer({ command: ['sh', '-c', `exit ${code}`] });

describe('lifecycle of a static pod', () => {
  test('a manifest becomes a running pod with the minimum of CRI calls', async () => {
    node.write('p.yaml', aPod());
    await node.clock.advance(50);
    expect(node.calls()).toEqual(started);
    expect(node.status('uid-p')).toMatchObject({
      phase: 'Running',
      podIP: expect.stringMatching(/^10\./),
      containerStatuses: [{ name: 'c', ready: true, restartCount: 0, state: { running: {} } }],
    });
    expect(node.status('uid-p')?.containerStatuses?.[0]?.containerID).toMatch(/^[a-z-]+:\/\/[0-9a-f]{64}$/);
  });

  test('the runtime is not called while nothing changes', async () => {
    node.write('p.yaml', aPod());
    await node.clock.advance(120_000);
    expect(node.calls()).toEqual(started);
  });

  test('a removed pod is stopped with its grace period, then cleaned up', async () => {
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 7 }));
    await node.clock.advance(50);
    node.remove('p.yaml');
    await node.clock.advance(10_000);
    const stop = node.cri.calls.find(({ method }) => method === 'StopContainer');
    expect(stop?.request).toMatchObject({ timeout: 7n });
    expect(node.calls().slice(3)).toEqual([
      'StopContainer',
      'StopPodSandbox',
      'RemoveContainer',
      'StopPodSandbox',
      'RemovePodSandbox',
    ]);
    expect(node.directories).toEqual(new Set());
    expect(node.status('uid-p')).toBeUndefined();
    expect(node.stores.lifecycles.all().size).toBe(0);
  });

  test('an edited pod ends completely before its successor starts', async () => {
    node.write('p.yaml', aPod({ uid: 'one', terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(50);
    node.write('p.yaml', aPod({ uid: 'two', hostname: 'other' }));
    await node.clock.advance(10);
    expect(node.calls().filter((call) => call === 'RunPodSandbox')).toHaveLength(1);
    await node.clock.advance(10_000);
    const calls = node.calls();
    expect(calls.lastIndexOf('RunPodSandbox')).toBeGreaterThan(calls.indexOf('RemovePodSandbox'));
    expect(node.status('two')?.phase).toBe('Running');
    expect(node.status('one')).toBeUndefined();
  });

  test('a pod edited during sandbox creation ends before its successor starts', async () => {
    node.cri.faults.latency('runPodSandbox', 500);
    node.write('p.yaml', aPod({ uid: 'one', terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(100);
    node.cri.faults.latency('runPodSandbox', 0);
    node.cri.faults.latency('listPodSandbox', 50);
    node.write('p.yaml', aPod({ uid: 'two', hostname: 'other' }));
    await node.clock.advance(20);
    expect(node.calls()).toEqual(['RunPodSandbox']);
    await node.clock.advance(5_000);
    expect(node.status('two')?.phase).toBe('Running');
    expect(node.stores.lifecycles.all().size).toBe(1);
  });

  test('a manifest removed and restored unchanged starts the pod again beside its old container', async () => {
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(50);
    const before = node.status('uid-p')?.containerStatuses?.[0]?.containerID;
    node.remove('p.yaml');
    await node.clock.advance(20);
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(10_000);
    const after = node.status('uid-p')?.containerStatuses?.[0];
    expect(after).toMatchObject({ restartCount: 1, state: { running: {} } });
    expect(after?.containerID).not.toBe(before);
  });
});

describe('a pod with an unsupported field', () => {
  const unsupported = [{ name: 'v', image: { reference: 'volume' } }];

  beforeEach(async () => {
    await node.stop();
    node = new FakeNode({ gates: { ImageVolume: false } });
    await node.start();
  });

  test('fails and names the field, others run', async () => {
    node.write('a.yaml', aPod({ name: 'a', volumes: unsupported }));
    node.write('b.yaml', aPod({ name: 'b' }));
    await node.clock.advance(50);
    expect(node.status('uid-a')).toMatchObject({ phase: 'Failed', reason: 'UnsupportedPodFeature' });
    expect(node.status('uid-a')?.message).toContain('spec.volumes[0].image');
    expect(node.status('uid-b')?.phase).toBe('Running');
  });

  test('that was running without it under the same UID is stopped and fails', async () => {
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(50);
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 2, volumes: unsupported }));
    await node.clock.advance(5_000);
    expect(node.status('uid-p')).toMatchObject({ phase: 'Failed', reason: 'UnsupportedPodFeature' });
    expect((await node.cri.listContainers({ filter: { state: { state: 1 } } })).containers).toEqual([]);
    node.remove('p.yaml');
    await node.clock.advance(5_000);
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
  });

  test('runs once it is corrected under the same UID, and keeps nothing of the rejection', async () => {
    node.write('p.yaml', aPod({ volumes: unsupported }));
    await node.clock.advance(50);
    expect(node.status('uid-p')?.phase).toBe('Failed');
    node.write('p.yaml', aPod());
    await node.clock.advance(50);
    expect(node.status('uid-p')).toMatchObject({ phase: 'Running', containerStatuses: [{ ready: true }] });
    expect(node.status('uid-p')?.reason).toBeUndefined();
  });
});

describe('restarts', () => {
  test('Always restarts at once, then after 10 s, 20 s, 40 s', async () => {
    node.write('p.yaml', aPod({ containers: [crashing()] }));
    await node.clock.advance(3_000);
    expect(restarts('uid-p')).toBe(1);
    expect(containerState('uid-p')).toMatchObject({
      waiting: {
        reason: 'CrashLoopBackOff',
        message: 'back-off 10s restarting failed container=c pod=p-n_default(uid-p)',
      },
    });
    const times = node.cri.calls.filter(({ method }) => method === 'StartContainer').length;
    expect(times).toBe(2);
    await node.clock.advance(11_000);
    expect(restarts('uid-p')).toBe(2);
    await node.clock.advance(21_000);
    expect(restarts('uid-p')).toBe(3);
    await node.clock.advance(30_000);
    expect(restarts('uid-p')).toBe(3);
    await node.clock.advance(11_000);
    expect(restarts('uid-p')).toBe(4);
  });

  test('a crashed container is reported as running, then waiting, then running, without other states in between', async () => {
    const states: string[] = [];
    node.stores.statuses.changed.subscribe((uid) => {
      const [status] = node.status(uid)?.containerStatuses ?? [];
      const { running, waiting } = status?.state ?? {};
      const now = running === undefined ? (waiting?.reason ?? 'Terminated') : 'Running';
      const line = `${now} ${status?.restartCount ?? 0}`;
      if (states.at(-1) !== line) states.push(line);
    });
    node.cri.faults.latency('containerStatus', 20);
    node.cri.faults.latency('startContainer', 20);
    const crashes = aContainer({ command: ['sh', '-c', 'sleep 1; exit 1'] });
    node.write('p.yaml', aPod({ containers: [crashes] }));
    await node.clock.advance(18_000);
    expect(states).toEqual([
      'ContainerCreating 0',
      'Running 0',
      'Terminated 0',
      'Running 1',
      'CrashLoopBackOff 1',
      'Running 2',
      'CrashLoopBackOff 2',
    ]);
  });

  test('a crashed pod that is removed and restored starts without back-off', async () => {
    const pod = aPod({ containers: [crashing()], terminationGracePeriodSeconds: 2 });
    node.write('p.yaml', pod);
    await node.clock.advance(60_000);
    expect(restarts('uid-p')).toBeGreaterThan(2);
    node.remove('p.yaml');
    await node.clock.advance(5_000);
    node.write('p.yaml', pod);
    await node.clock.advance(2_000);
    expect(restarts('uid-p')).toBe(1);
  });

  test('a crash loop keeps only the last dead container', async () => {
    node.write('p.yaml', aPod({ containers: [crashing()] }));
    await node.clock.advance(400_000);
    expect(restarts('uid-p')).toBeGreaterThan(4);
    expect((await node.cri.listContainers({})).containers.length).toBeLessThanOrEqual(2);
  });

  test.each([
    ['Never', 0, 'Succeeded'],
    ['Never', 3, 'Failed'],
    ['OnFailure', 0, 'Succeeded'],
  ])('%s, exit %i: the pod is %s and not restarted', async (restartPolicy, code, phase) => {
    node.write('p.yaml', aPod({ restartPolicy, containers: [crashing(code)] }));
    await node.clock.advance(60_000);
    expect(node.calls().filter((call) => call === 'CreateContainer')).toHaveLength(1);
    expect(node.status('uid-p')).toMatchObject({ phase });
    expect(containerState('uid-p')).toMatchObject({ terminated: { exitCode: code } });
    expect((await node.cri.listPodSandbox({ filter: { state: { state: 0 } } })).items).toEqual([]);
  });

  test('OnFailure, exit 1: the container restarts', async () => {
    node.write('p.yaml', aPod({ restartPolicy: 'OnFailure', containers: [crashing()] }));
    await node.clock.advance(3_000);
    expect(restarts('uid-p')).toBe(1);
  });

  test('a crash of one container does not affect its sibling', async () => {
    node.write('p.yaml', aPod({ containers: [crashing(), aContainer({ name: 'ok' })] }));
    await node.clock.advance(15_000);
    const ok = node.status('uid-p')?.containerStatuses?.find(({ name }) => name === 'ok');
    expect(ok).toMatchObject({ restartCount: 0, state: { running: {} } });
  });
});

describe('a burst', () => {
  test('parallel starts are bounded and in order: the first pods run long before the last', async () => {
    node.cri.faults.latency('runPodSandbox', 100);
    node.cri.faults.latency('startContainer', 50);
    const names = Array.from({ length: 20 }, (_, i) => `p${String(i).padStart(2, '0')}`);
    for (const name of names) node.write(`${name}.yaml`, aPod({ name }));
    await node.clock.advance(10_000);
    const order = node.cri.calls.filter(({ method }) => method === 'StartContainer').map(({ atMs }) => atMs);
    expect(order).toHaveLength(20);
    const sandboxes = node.cri.calls.filter(({ method }) => method === 'RunPodSandbox');
    const firstStart = Math.min(...order);
    const before = sandboxes.filter(({ atMs }) => atMs < firstStart).length;
    expect(before).toBeLessThan(10);
  });
});

test('a quota period with a fraction of a millisecond is exact to the microsecond', async () => {
  await node.stop();
  // In floating point this is 1000.9999999999999 microseconds.
  node = new FakeNode({ config: { cpuCFSQuotaPeriod: new Duration(1_001_000n) } });
  await node.start();
  node.write('p.yaml', aPod({ containers: [aContainer({ resources: { limits: { cpu: '2' } } })] }));
  await node.clock.advance(50);
  expect(node.cgroups.settings('/kubepods/burstable/poduid-p')?.cpuPeriodUs).toBe(1_001n);
  const created = node.cri.calls.find(({ method }) => method === 'CreateContainer');
  expect(created?.request).toMatchObject({ config: { linux: { resources: { cpuPeriod: 1_001n } } } });
});
