// Interrupted starts: pods removed while they start, and a container whose task containerd has lost and cannot remove.
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeOnRig } from './rig/on-rig.ts';
import { waitFor } from './rig/wait.ts';
import { logPath } from './support/container-log.ts';
import { container, manifest } from './support/manifest.ts';
import { containerStatus, uidOf, untilRestarted, untilRunning } from './support/pod-state.ts';
import { podTraces, untilNoTraces } from './support/pod-traces.ts';
import { killTask, runtimePod } from './support/runtime-pods.ts';
import { type StalledRig, startStalledRig } from './support/stalling-cri.ts';

describeOnRig('interrupted starts', () => {
  let stalled: StalledRig;
  let rig: StalledRig['rig'];
  let cri: StalledRig['cri'];
  let kubelet: StalledRig['kubelet'];

  beforeAll(async () => {
    stalled = await startStalledRig();
    ({ rig, cri, kubelet } = stalled);
  });
  afterAll(async () => await stalled.stop());
  afterEach(async () => await rig.removeAllPods());

  test('a pod removed at any moment of its start ends without an error and leaves nothing behind', async () => {
    const from = kubelet.log.end;
    for (let delayMs = 20; delayMs <= 340; delayMs += 20) {
      const name = `brief-${delayMs}`;
      kubelet.writeManifest(name, manifest(name, { containers: [container('a'), container('b')] }));
      await sleep(delayMs);
      kubelet.removeManifest(name);
    }
    await waitFor(
      async () =>
        (await rig.cri.listPodSandbox({})).items.length === 0 && (await kubelet.pods()).length === 0,
      'all pods to be removed',
      30_000,
    );
    expect(kubelet.log.matching(/^E/, from)).toEqual([]);
  });

  const cutStart = async (containerId: string): Promise<void> => {
    await waitFor(async () => {
      await rig.cri.startContainer({ containerId }, { timeoutMs: 3 }).catch(() => undefined);
      const { status } = await rig.cri.containerStatus({ containerId });
      return status?.reason === 'StartError';
    }, 'the start to be interrupted');
  };

  test('a kubelet killed during a start, and again before it recreates the container, counts no restart', async () => {
    const started = cri.faults.stall('startContainer');
    kubelet.writeManifest('twice', manifest('twice'));
    await waitFor(() => started.waiting > 0, 'the start to hang');
    const pod = await waitFor(() => kubelet.pod('twice'), 'the pod');
    const [lost] = (await runtimePod(rig, kubelet, 'twice')).containers;
    await kubelet.kill9();
    started.release();
    await cutStart(lost?.id ?? '');
    // In most cases an interrupted start has already created the log.
    writeFileSync(logPath(kubelet, pod), '', { flag: 'a' });

    const recreated = cri.faults.stall('createContainer');
    await kubelet.start();
    await waitFor(() => recreated.waiting > 0, 'the container to be recreated');
    expect((await runtimePod(rig, kubelet, 'twice')).containers).toEqual([]);
    await kubelet.kill9();
    recreated.release();
    await kubelet.start();
    expect(containerStatus(await untilRunning(kubelet, 'twice'))).toMatchObject({
      restartCount: 0,
      lastState: {},
    });
    kubelet.removeManifest('twice');
    await untilNoTraces(rig, kubelet, pod);
  });

  /** Interrupts a start and creates the task that containerd does not know of, as happens at a certain moment. */
  const loseStart = async (containerId: string): Promise<void> => {
    await cutStart(containerId);
    await rig.ctr('tasks', 'start', '--detach', '--null-io', containerId);
    await expect(rig.cri.removeContainer({ containerId })).rejects.toThrow('cannot delete running task');
  };

  test('a container that cannot be removed is replaced, and its pod can end and be replaced', async () => {
    const stall = cri.faults.stall('startContainer');
    kubelet.writeManifest('kept', manifest('kept', { restartPolicy: 'OnFailure' }));
    await waitFor(() => stall.waiting > 0, 'the start to hang');
    const [lost] = (await runtimePod(rig, kubelet, 'kept')).containers;
    await loseStart(lost?.id ?? '');
    const from = kubelet.log.end;
    stall.release();

    const pod = await untilRunning(kubelet, 'kept');
    expect(containerStatus(pod)).toMatchObject({ restartCount: 0, lastState: {} });
    expect(
      kubelet.log.matching(/refuses to remove a container whose start was interrupted/, from),
    ).toHaveLength(1);
    // None of its processes keeps running.
    const task = (await rig.ctr('tasks', 'ls')).split('\n').find((line) => line.startsWith(lost?.id ?? '?'));
    expect(task).toMatch(/STOPPED/);

    const [running] = (await runtimePod(rig, kubelet, 'kept')).containers.filter(
      ({ state }) => state === 'running',
    );
    await killTask(rig, running?.id ?? '');
    await untilRestarted(kubelet, 'kept', 1);

    // A pod of the same name and another UID does not wait for the leftover.
    kubelet.writeManifest('kept', manifest('kept', { metadata: { labels: { app: 'next' } } }));
    const next = await waitFor(async () => {
      const each = await untilRunning(kubelet, 'kept');
      return uidOf(each) !== uidOf(pod) && each;
    }, 'the next pod to run');
    expect(await podTraces(rig, kubelet, pod)).toEqual(['sandbox', 'container']);

    // A restart of the runtime removes it.
    await rig.containerd.stop();
    await rig.containerd.start();
    await kubelet.kill9();
    await kubelet.start();
    await untilNoTraces(rig, kubelet, pod);
    expect(containerStatus(await untilRunning(kubelet, 'kept')).restartCount).toBe(0);
    expect(uidOf(await untilRunning(kubelet, 'kept'))).toBe(uidOf(next));
    kubelet.removeManifest('kept');
    await untilNoTraces(rig, kubelet, next);
  });
});
