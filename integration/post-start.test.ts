// postStart hooks: a container is reported as running once its hook has succeeded, also over a kill of the kubelet.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Container, Lifecycle, Pod, PodStatus } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { logPath } from './support/container-log.ts';
import { container, manifest } from './support/manifest.ts';
import { containerStatus, untilContainer, untilPod, untilRunning } from './support/pod-state.ts';
import { runtimePod } from './support/runtime-pods.ts';
import { TestPods } from './support/test-pods.ts';

/** Writes the output of the hook to the log of the container. */
const hook = (script: string): Lifecycle => ({
  postStart: { exec: { command: ['sh', '-c', `(${script}) > /proc/1/fd/1 2>&1`] } },
});
const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };

describeOnRig('postStart hooks', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const own = new TestPods(() => kubelet);

  beforeAll(async () => {
    rig = await startRig();
    kubelet = rig.newKubelet();
    await kubelet.start();
  });
  afterAll(() => rig.stop());
  afterEach(async () => {
    if (!kubelet.running) await kubelet.start();
    own.removeAll();
    await waitFor(async () => (await kubelet.pods()).length === 0, 'all pods to be removed');
  });

  const withHook = (name: string, script: string, over: Partial<Container> = {}): Pod =>
    manifest(name, { containers: [container('main', undefined, { lifecycle: hook(script), ...over })] });
  const isUp = ({ conditions = [], containerStatuses = [] }: PodStatus): boolean =>
    conditions.some(({ type, status }) => type === 'Ready' && status === 'True') ||
    containerStatuses.some(
      ({ ready, started, state }) => ready || started === true || state?.running !== undefined,
    );
  const logged = (pod: Pod): string => {
    const path = logPath(kubelet, pod);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  const records = (): readonly string[] => {
    const directory = join(kubelet.rootDir, 'post-start-hooks');
    return existsSync(directory) ? readdirSync(directory) : [];
  };
  const untilHookRuns = (name: string, times = 1): Promise<Pod> =>
    waitFor(async () => {
      const pod = await kubelet.pod(name);
      return pod !== undefined && logged(pod).split('begun').length > times && pod;
    }, `run ${times} of the hook of ${name}`);
  /** Polls the pod until the hook has ended: it must not be reported as running before. */
  const expectNotRunningUntilDone = async (name: string): Promise<void> => {
    await waitFor(async () => {
      const pod = await kubelet.pod(name);
      if (pod === undefined) return false;
      const { status = {} } = pod;
      // Read after the status: a hook that has not ended now had not ended when the status was reported.
      const isDone = logged(pod).includes('done');
      if (!isDone) expect(isUp(status), JSON.stringify(status)).toBe(false);
      return isDone;
    }, `the hook of ${name} to end`);
  };

  test('a container with a readiness probe is ready after its hook, not before', async () => {
    own.write('slow', withHook('slow', 'echo begun; sleep 4; echo done', { readinessProbe }));
    const pod = await untilHookRuns('slow');
    expect((await runtimePod(rig, kubelet, 'slow')).containers[0]?.state).toBe('running');
    expect(pod.status?.phase).toBe('Pending');
    await expectNotRunningUntilDone('slow');
    expect(containerStatus(await untilRunning(kubelet, 'slow'))).toMatchObject({
      restartCount: 0,
      started: true,
    });
    expect(records()).toEqual([]);
  });

  test('a container with a failing hook is never ready nor started', async () => {
    const seen: PodStatus[] = [];
    own.write('bad', withHook('bad', 'echo begun; sleep 1; exit 5'));
    await waitFor(async () => {
      const status = (await kubelet.pod('bad'))?.status;
      if (status !== undefined) seen.push(status);
      return (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0;
    }, 'the container to be restarted');
    await untilContainer(
      kubelet,
      'bad',
      'ended by its hook again',
      ({ state }) => state?.waiting !== undefined,
    );
    expect(seen.filter(isUp)).toEqual([]);
    expect(seen.length).toBeGreaterThan(10);
  });

  test('a hook interrupted by a kill of the kubelet runs again, and the container is reported as running after it', async () => {
    own.write('cut', withHook('cut', 'echo begun; sleep 4; echo done', { readinessProbe }));
    await untilHookRuns('cut');
    const before = (await runtimePod(rig, kubelet, 'cut')).containers;
    await kubelet.kill9();
    await kubelet.start();
    await untilHookRuns('cut', 2);
    await expectNotRunningUntilDone('cut');
    const pod = await untilRunning(kubelet, 'cut');
    expect(containerStatus(pod)).toMatchObject({ restartCount: 0, lastState: {} });
    // The first run was killed with its kubelet.
    expect(logged(pod).match(/begun|done/g)).toEqual(['begun', 'begun', 'done']);
    const after = (await runtimePod(rig, kubelet, 'cut')).containers;
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    await kubelet.kill9();
    await kubelet.start();
    await untilPod(kubelet, 'cut', 'still up', isUp);
    expect(logged(pod).match(/begun/g)).toHaveLength(2);
    expect(records()).toEqual([]);
  });

  test('a pod removed during its hook ends and leaves no record', async () => {
    own.write('brief', withHook('brief', 'echo begun; sleep 600'));
    await untilHookRuns('brief');
    expect(records()).toHaveLength(1);
    own.remove('brief');
    await waitFor(async () => (await kubelet.pods()).length === 0, 'the pod to be removed');
    await waitFor(() => records().length === 0, 'its record to be removed');
  });
});
