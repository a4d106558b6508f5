// Stages of a pod: init containers in order, sidecars beside them, hooks and order of the termination, and a kubelet
// killed in the middle of a stage.
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import type { Container, ContainerStatus, Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { container, exitsOnTerm, ignoresTerm, manifest } from './support/manifest.ts';
import { untilPod, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';

const side = (name: string): Container => container(name, exitsOnTerm, { restartPolicy: 'Always' });

function statusOf(pod: Pod, name: string): ContainerStatus {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const status = [...initContainerStatuses, ...containerStatuses].find((each) => each.name === name);
  if (status === undefined) throw new Error(`no status of ${name}: ${JSON.stringify(pod.status)}`);
  return status;
}

/** In whole seconds, as in a status. */
const startedAt = (status: ContainerStatus): number =>
  Date.parse(status.state?.running?.startedAt ?? status.state?.terminated?.startedAt ?? '');
const finishedAt = (status: ContainerStatus): number =>
  Date.parse(status.state?.terminated?.finishedAt ?? '');

describeOnRig('pod stages', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const names = new Set<string>();

  const write = (name: string, over: Parameters<typeof manifest>[1]): void => {
    kubelet.writeManifest(name, manifest(name, over));
    names.add(name);
  };

  beforeAll(async () => {
    rig = await startRig();
    kubelet = await rig.kubelet();
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    onTestFailed(async () => {
      const pods = kubelet.running ? await kubelet.pods().catch(() => []) : [];
      console.error(JSON.stringify(pods, null, 1), kubelet.log.lines().slice(-80).join('\n'));
    });
  });
  afterEach(async () => {
    if (!kubelet.running) await kubelet.start();
    for (const name of names) kubelet.removeManifest(name);
    names.clear();
  });

  test('init containers run one after the other, then the regular ones beside the sidecar', async () => {
    const initContainers = [container('i1', 'exit 0'), side('s'), container('i2', 'exit 0')];
    write('staged', { initContainers, containers: [container('a'), container('b')] });
    const pod = await untilRunning(kubelet, 'staged');
    const [i1, s, i2, a, b] = ['i1', 's', 'i2', 'a', 'b'].map((name) => statusOf(pod, name)) as [
      ContainerStatus,
      ContainerStatus,
      ContainerStatus,
      ContainerStatus,
      ContainerStatus,
    ];
    expect([i1, i2].map(({ state }) => state?.terminated?.exitCode)).toEqual([0, 0]);
    expect([i1, s, i2, a, b].map(({ restartCount }) => restartCount)).toEqual([0, 0, 0, 0, 0]);
    expect(s.state?.running).toBeDefined();
    expect(startedAt(s)).toBeGreaterThanOrEqual(finishedAt(i1));
    expect(startedAt(i2)).toBeGreaterThanOrEqual(startedAt(s));
    for (const app of [a, b]) expect(startedAt(app)).toBeGreaterThanOrEqual(finishedAt(i2));
  });

  test('a completed pod ends its sidecar, and is Succeeded', async () => {
    write('done', {
      restartPolicy: 'Never',
      initContainers: [side('s')],
      containers: [container('main', 'exit 0')],
    });
    const pod = await untilPod(kubelet, 'done', 'Succeeded', ({ phase }) => phase === 'Succeeded');
    const ended = await untilPod(
      kubelet,
      'done',
      'its sidecar ended',
      (_status, each) => statusOf(each, 's').state?.terminated !== undefined,
    );
    expect(statusOf(pod, 'main').state?.terminated?.exitCode).toBe(0);
    expect(finishedAt(statusOf(ended, 's'))).toBeGreaterThanOrEqual(finishedAt(statusOf(ended, 'main')));
  });

  test('OnFailure restarts a failed container; a failed init container under Never fails the pod', async () => {
    write('again', { restartPolicy: 'OnFailure', containers: [container('main', 'exit 3')] });
    write('broken', {
      restartPolicy: 'Never',
      initContainers: [container('i1', 'exit 7'), container('i2', 'exit 0')],
    });
    const again = await untilPod(
      kubelet,
      'again',
      'restarted once',
      (_status, pod) => statusOf(pod, 'main').restartCount >= 1,
    );
    expect(again.status?.phase).toBe('Running');
    const broken = await untilPod(kubelet, 'broken', 'Failed', ({ phase }) => phase === 'Failed');
    expect(statusOf(broken, 'i1').state?.terminated?.exitCode).toBe(7);
    expect(statusOf(broken, 'i2').state?.waiting).toBeDefined();
    expect(statusOf(broken, 'main').state?.waiting).toBeDefined();
  });

  test('a termination runs the hook, then ends its container, then the sidecar', async () => {
    const preStop = { exec: { command: ['sh', '-c', 'sleep 2; echo hook-ran > /proc/1/fd/1'] } };
    write('ordered', {
      terminationGracePeriodSeconds: 60,
      initContainers: [side('s')],
      containers: [container('main', exitsOnTerm, { lifecycle: { preStop } })],
    });
    const pod = await untilRunning(kubelet, 'ordered');
    const from = kubelet.log.end;
    kubelet.removeManifest('ordered');
    names.delete('ordered');
    await untilNoTraces(rig, kubelet, pod);
    const lines = kubelet.log.matching(/"Stopping container".*ordered-/, from);
    expect(lines.map((line) => /container="([^"]*)"/.exec(line)?.[1])).toEqual(['main', 's']);
    const grace = lines.map((line) => Number(/graceSeconds=(\d+)/.exec(line)?.[1]));
    // The hook took two seconds of the grace period, for the container and for the waiting sidecar.
    for (const seconds of grace) expect(seconds).toBeLessThanOrEqual(58);
  });

  test('an init container keeps running over a kill of the kubelet, and is not restarted', async () => {
    write('midway', { initContainers: [side('s'), container('i', 'sleep 6')] });
    const during = await untilPod(
      kubelet,
      'midway',
      'its init container running',
      (_status, pod) => statusOf(pod, 'i').state?.running !== undefined,
    );
    await kubelet.kill9();
    await kubelet.start();
    const after = await untilRunning(kubelet, 'midway');
    for (const name of ['s', 'i']) {
      expect(statusOf(after, name).containerID).toBe(statusOf(during, name).containerID);
      expect(statusOf(after, name).restartCount).toBe(0);
    }
    expect(statusOf(after, 'main').restartCount).toBe(0);
  });

  test('a restarted kubelet completes the termination of a pod', async () => {
    write('ending', { terminationGracePeriodSeconds: 5, containers: [container('main', ignoresTerm)] });
    const pod = await untilRunning(kubelet, 'ending');
    const from = kubelet.log.end;
    kubelet.removeManifest('ending');
    names.delete('ending');
    await kubelet.log.waitForLine(/"Stopping container".*ending-/, { from });
    await kubelet.kill9();
    await kubelet.start();
    await untilNoTraces(rig, kubelet, pod);
  });
});
