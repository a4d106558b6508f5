// Containers with a postStart hook, on the fake clock: they are not reported as running before the hook has succeeded.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Container, ContainerStatus, PodStatus } from '../../../src/api/k8s/types.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
/** Every status of the pod since its start, so that no moment of readiness is missed. */
let statuses: PodStatus[];
let unsubscribe: () => void = () => undefined;

const watchStatuses = (): void => {
  unsubscribe = node.stores.statuses.changed.subscribe((uid) => {
    const status = node.stores.statuses.get(uid);
    if (status !== undefined) statuses.push(structuredClone(status));
  });
};
const start = async (): Promise<void> => {
  await node.start();
  watchStatuses();
};
const killKubelet = async (): Promise<void> => {
  unsubscribe();
  await node.kill();
};

beforeEach(async () => {
  node = new FakeNode();
  statuses = [];
  await start();
});
afterEach(async () => await node.stop());

const hooked = (seconds: number, over: Partial<Container> = {}): Container =>
  aContainer({
    lifecycle: { postStart: { exec: { command: ['sh', '-c', `sleep ${seconds}`] } } },
    ...over,
  });
const failing = (seconds: number, over: Partial<Container> = {}): Container =>
  aContainer({
    lifecycle: { postStart: { exec: { command: ['sh', '-c', `sleep ${seconds}; exit 7`] } } },
    ...over,
  });
const run = (over: PodOver): void =>
  node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 1, ...over }));

const all = ({
  initContainerStatuses = [],
  containerStatuses = [],
}: PodStatus): readonly ContainerStatus[] => [...initContainerStatuses, ...containerStatuses];
const own = (name = 'c'): ContainerStatus | undefined =>
  all(node.status('uid-p') ?? {}).find((each) => each.name === name);
const podReady = (status: PodStatus | undefined = node.status('uid-p')): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.status;
const wasUp = (name = 'c'): boolean =>
  statuses.some((status) =>
    all(status).some(
      (each) =>
        each.name === name && (each.state?.running !== undefined || each.ready || each.started === true),
    ),
  );
const wasReady = (): boolean => statuses.some((status) => podReady(status) === 'True');
const hookRuns = (): number => node.cri.calls.filter(({ method }) => method === 'ExecSync').length;
const records = (): readonly string[] =>
  [...node.files.keys()].filter((path) => path.includes('post-start-hooks'));

describe('while the hook runs', () => {
  test('the container is ContainerCreating and its pod Pending; both run when the hook has ended', async () => {
    run({ containers: [hooked(6)] });
    await node.clock.advance(5_000);
    expect(node.cri.container('c').state).toBe(1);
    expect([own()?.state, own()?.ready, own()?.started]).toEqual([
      { waiting: { reason: 'ContainerCreating' } },
      false,
      false,
    ]);
    expect([node.status('uid-p')?.phase, wasUp(), wasReady()]).toEqual(['Pending', false, false]);
    expect(node.explanation('uid-p')).toBe('the postStart hook of container c runs');
    await node.clock.advance(2_000);
    expect([own()?.state?.running === undefined, own()?.ready, podReady()]).toEqual([false, true, 'True']);
    expect(records()).toEqual([]);
  });

  test('a sleep hook of an hour holds the container back as well', async () => {
    run({
      terminationGracePeriodSeconds: 7_200,
      containers: [aContainer({ lifecycle: { postStart: { sleep: { seconds: 3_600 } } } })],
    });
    await node.clock.advance(3_500_000);
    expect([wasUp(), wasReady()]).toEqual([false, false]);
    await node.clock.advance(200_000);
    expect(podReady()).toBe('True');
  });

  test('no probe runs, and readiness is probed right after', async () => {
    const probe = { exec: { command: ['true'] }, periodSeconds: 1, failureThreshold: 1 };
    run({ containers: [hooked(6, { startupProbe: probe, livenessProbe: probe, readinessProbe: probe })] });
    await node.clock.advance(5_500);
    expect(hookRuns()).toBe(1);
    await node.clock.advance(5_000);
    expect(hookRuns()).toBeGreaterThan(1);
    expect([own()?.started, podReady()]).toEqual([true, 'True']);
  });

  test('the next container is not created, and a container started before is reported as running', async () => {
    run({ containers: [aContainer({ name: 'a' }), hooked(6), aContainer({ name: 'z' })] });
    await node.clock.advance(5_000);
    expect([own('a')?.ready, own()?.ready, own('z')?.state?.waiting?.reason]).toEqual([
      true,
      false,
      'ContainerCreating',
    ]);
    expect(podReady()).toBe('False');
    await node.clock.advance(3_000);
    expect(podReady()).toBe('True');
  });

  test('a sidecar has not started, and the pod is not initialized', async () => {
    run({ initContainers: [hooked(6, { name: 's', restartPolicy: 'Always' })] });
    await node.clock.advance(5_000);
    expect([own('s')?.state?.waiting?.reason, own('s')?.started]).toEqual(['PodInitializing', false]);
    const initialized = node.status('uid-p')?.conditions?.find(({ type }) => type === 'Initialized');
    expect(initialized?.status).toBe('False');
    await node.clock.advance(3_000);
    expect([own('s')?.started, podReady()]).toEqual([true, 'True']);
  });

  test('a restarted container keeps its last termination state until its hook has ended', async () => {
    run({ containers: [hooked(6)] });
    await node.clock.advance(8_000);
    node.cri.exitContainer('c', 3);
    await node.clock.advance(3_000);
    expect(own()).toMatchObject({ restartCount: 0, ready: false, state: { terminated: { exitCode: 3 } } });
    await node.clock.advance(5_000);
    expect(own()).toMatchObject({
      restartCount: 1,
      ready: true,
      lastState: { terminated: { exitCode: 3 } },
    });
    expect(own()?.state?.running).toBeDefined();
    node.cri.exitContainer('c', 3);
    await node.clock.advance(12_000);
    expect(own()?.state?.waiting?.reason).toBe('CrashLoopBackOff');
    expect(node.cri.container('c').state).toBe(1);
    await node.clock.advance(6_000);
    expect(own()).toMatchObject({ restartCount: 2, ready: true });
  });

  test('a container that exits meanwhile is reported as terminated, and never as running', async () => {
    run({ containers: [hooked(6, { command: ['sh', '-c', 'sleep 2; exit 4'] })], restartPolicy: 'Never' });
    await node.clock.advance(10_000);
    expect(own()?.state?.terminated?.exitCode).toBe(4);
    expect([node.status('uid-p')?.phase, wasUp()]).toEqual(['Failed', false]);
    expect(records()).toEqual([]);
  });

  test('a deleted pod ends at once and leaves no record', async () => {
    run({ containers: [hooked(600)] });
    await node.clock.advance(3_000);
    expect(records()).toHaveLength(1);
    node.remove('p.yaml');
    await node.clock.advance(5_000);
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
    expect([wasUp(), records()]).toEqual([false, []]);
  });
});

describe('a failed hook', () => {
  test('never lets the pod run over all its restarts, and the status reports the cause', async () => {
    run({ containers: [failing(2)] });
    // The hook takes 2 s, and so does the minimum grace period.
    await node.clock.advance(4_300);
    expect(own()).toMatchObject({
      state: { waiting: { reason: 'PostStartHookError' } },
      lastState: { terminated: { exitCode: 137 } },
    });
    await node.clock.advance(120_000);
    expect(own()?.restartCount).toBeGreaterThan(2);
    expect([wasUp(), wasReady()]).toEqual([false, false]);
    expect(node.eventLines('uid-p')).toContain('FailedPostStartHook: PostStartHook failed');
    expect(records().length).toBeLessThanOrEqual(1);
  });

  test('does not let the pod run while the container terminates', async () => {
    const stubborn = ['sh', '-c', 'trap "" TERM; while true; do sleep 1; done'];
    run({ containers: [failing(1, { command: stubborn })], terminationGracePeriodSeconds: 20 });
    await node.clock.advance(15_000);
    expect(node.cri.container('c').state).toBe(1);
    expect([wasUp(), own()?.state?.waiting?.reason]).toEqual([false, 'ContainerCreating']);
  });

  test('runs again if the container cannot be killed', async () => {
    node.cri.faults.fail('stopContainer', new KubeletError('internal', 'Refused', 'not now'), { times: 1 });
    run({ containers: [failing(1)], restartPolicy: 'Never' });
    await node.clock.advance(20_000);
    expect([wasUp(), hookRuns()]).toEqual([false, 2]);
    expect(node.status('uid-p')?.phase).toBe('Failed');
  });
});

describe('over a restart of the kubelet', () => {
  for (const [title, end] of [
    ['killed', () => killKubelet()],
    ['stopped', async () => (unsubscribe(), await node.stop())],
  ] as const) {
    test(`${title} in the middle of the hook: the hook runs again, and the container is reported as running only after it`, async () => {
      run({ containers: [hooked(60)] });
      await node.clock.advance(3_000);
      await end();
      await node.clock.advance(1_000);
      await start();
      await node.clock.advance(59_000);
      expect([wasUp(), own()?.state?.waiting?.reason, hookRuns()]).toEqual([false, 'ContainerCreating', 2]);
      await node.clock.advance(2_000);
      expect(own()).toMatchObject({ ready: true, restartCount: 0, lastState: {} });
      expect(records()).toEqual([]);
      expect(node.logged('again')).not.toEqual([]);
    });
  }

  test('a hook that fails at the second run ends the container', async () => {
    run({ containers: [failing(6)] });
    await node.clock.advance(3_000);
    await killKubelet();
    await start();
    await node.clock.advance(9_000);
    expect(own()?.lastState?.terminated?.exitCode).toBe(137);
    expect(wasUp()).toBe(false);
  });

  test('a successful hook does not run again', async () => {
    run({ containers: [hooked(2)] });
    await node.clock.advance(5_000);
    statuses = [];
    await killKubelet();
    await start();
    await node.clock.advance(10_000);
    expect([hookRuns(), podReady(), wasUp()]).toEqual([1, 'True', true]);
    expect(statuses.every((status) => podReady(status) === 'True')).toBe(true);
  });

  test('a sidecar whose hook was interrupted keeps the next container waiting', async () => {
    run({ initContainers: [hooked(6, { name: 's', restartPolicy: 'Always' })] });
    await node.clock.advance(3_000);
    await killKubelet();
    await start();
    await node.clock.advance(5_000);
    expect([wasUp('s'), wasUp()]).toEqual([false, false]);
    await node.clock.advance(4_000);
    expect([own('s')?.started, podReady(), own('s')?.restartCount]).toEqual([true, 'True', 0]);
  });

  test('a container that exited meanwhile is restarted, with its hook', async () => {
    run({ containers: [hooked(6)] });
    await node.clock.advance(3_000);
    await killKubelet();
    node.cri.exitContainer('c', 1);
    await start();
    await node.clock.advance(5_000);
    expect(wasUp()).toBe(false);
    await node.clock.advance(4_000);
    expect(own()).toMatchObject({ ready: true, restartCount: 1 });
    expect(records()).toEqual([]);
  });

  test('a pod deleted meanwhile ends and leaves no record', async () => {
    run({ containers: [hooked(600)] });
    await node.clock.advance(3_000);
    await killKubelet();
    node.remove('p.yaml');
    await start();
    await node.clock.advance(10_000);
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
    expect([wasUp(), records()]).toEqual([false, []]);
  });
});
