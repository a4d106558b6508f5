// Running pods: what /pods reports, labels and annotations of their containers, and restart policies.
import { expect, test } from 'vitest';
import { criAnnotations, criLabels } from '../src/api/cri/labels.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { containerHashText } from '../src/api/pod/container-hash.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { slowness, waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';
import { containerIdOf, containerStatus, uidOf, untilPod } from './support/pod-state.ts';
import { runtimePod, untilRuntimePod } from './support/runtime-pods.ts';
import { useNode } from './support/suite-node.ts';

const second = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const containerID = expect.stringMatching(/^containerd:\/\/[0-9a-f]{64}$/) as string;
const time = expect.stringMatching(second) as string;

function secondsOf(text: string | undefined): number {
  return Date.parse(text ?? '') / 1000;
}

describeOnRig('pod lifecycle', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const own = useNode((node) => ({ rig, kubelet } = node));

  test('a pod of two containers runs, and /pods reports it like the API', async () => {
    const two = { containers: [container('web'), container('log')], metadata: { labels: { app: 'two' } } };
    const pod = await own.start('two', manifest('two', two));
    const uid = uidOf(pod);
    const held = await runtimePod(rig, kubelet, 'two');
    const ids = Object.fromEntries(held.containers.map(({ name, id }) => [name, `containerd://${id}`]));
    const sandbox = held.sandboxes[0]?.id ?? '';
    const { status: seen } = await rig.cri.podSandboxStatus({ podSandboxId: sandbox });
    const running = (name: string): unknown => ({
      name,
      state: { running: { startedAt: time } },
      lastState: {},
      ready: true,
      restartCount: 0,
      image: rig.images.busybox,
      imageID: expect.stringMatching(/^(.+@)?sha256:[0-9a-f]{64}$/) as string,
      containerID: ids[name],
      started: true,
      resources: {},
    });

    expect(uid).toMatch(/^[0-9a-f]{32}$/);
    expect(pod.metadata).toMatchObject({
      name: `two-${kubelet.nodeName}`,
      namespace: 'default',
      labels: { app: 'two' },
      annotations: {
        'kubernetes.io/config.source': 'file',
        'kubernetes.io/config.hash': uid,
        'kubernetes.io/config.seen': expect.stringMatching(
          /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/,
        ) as string,
      },
    });
    expect(pod.spec).toMatchObject({ nodeName: kubelet.nodeName, restartPolicy: 'Always' });
    expect(pod.status).toMatchObject({
      phase: 'Running',
      qosClass: 'BestEffort',
      startTime: time,
      hostIP: expect.stringMatching(/^[\d.]+$/) as string,
      podIP: seen?.network?.ip,
      podIPs: [{ ip: seen?.network?.ip }],
      containerStatuses: [running('log'), running('web')],
    });
    expect(pod.status?.podIP).toMatch(new RegExp(`^${rig.workspace.prefix}\\.\\d+$`));
    expect(pod.status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      'PodReadyToStartContainers=True',
      'Initialized=True',
      'Ready=True',
      'ContainersReady=True',
      'PodScheduled=True',
    ]);
    expect(held.sandboxes).toEqual([{ id: sandbox, uid, attempt: 0, ready: true }]);
  });

  test('labels and annotations of sandbox and container are those of upstream', async () => {
    const pod = await own.start('marked', manifest('marked', { metadata: { labels: { app: 'marked' } } }));
    const named = {
      [criLabels.podName]: `marked-${kubelet.nodeName}`,
      [criLabels.podNamespace]: 'default',
      [criLabels.podUid]: uidOf(pod),
    };
    const { sandboxes } = await runtimePod(rig, kubelet, 'marked');
    const { status: sandbox } = await rig.cri.podSandboxStatus({ podSandboxId: sandboxes[0]?.id ?? '' });
    expect(sandbox?.labels).toEqual({ app: 'marked', ...named });
    expect(sandbox?.annotations).toEqual(pod.metadata?.annotations);
    const { status } = await rig.cri.containerStatus({ containerId: containerIdOf(pod) });
    expect(status?.labels).toEqual({ ...named, [criLabels.containerName]: 'main' });
    expect(status?.annotations).toEqual({
      [criAnnotations.hash]: containerHashText({ name: 'main', image: rig.images.busybox }),
      [criAnnotations.restartCount]: '0',
      [criAnnotations.terminationMessagePath]: '/dev/termination-log',
      [criAnnotations.terminationMessagePolicy]: 'File',
      [criAnnotations.terminationGracePeriod]: '1',
    });
  });

  test('/runningpods reports running pods from the runtime alone', async () => {
    const pod = await own.start('listed');
    const list = JSON.parse((await kubelet.secure('/runningpods/')).text) as { items: Pod[] };
    const found = list.items.filter(({ metadata }) => metadata?.uid === uidOf(pod));
    expect(found).toEqual([
      {
        metadata: { name: `listed-${kubelet.nodeName}`, namespace: 'default', uid: uidOf(pod) },
        spec: { containers: [{ name: 'main', image: rig.images.busybox, resources: {} }] },
        status: {},
      },
    ]);
  });

  test('the UID of a manifest is kept', async () => {
    const uid = '5f9c0f6e-3c1b-4f6e-9d53-0e1c8f6a7b21';
    const pod = await own.start('given', manifest('given', { metadata: { uid, namespace: 'kube-system' } }));
    expect(pod.metadata).toMatchObject({ uid, namespace: 'kube-system' });
    expect((await runtimePod(rig, kubelet, 'given')).sandboxes.map((each) => each.uid)).toEqual([uid]);
  });

  test('the first crash is followed by an immediate restart, the next by a back-off of ten seconds', async () => {
    own.write('crash', manifest('crash', { containers: [container('main', 'exit 7'), container('well')] }));
    const waiting = await untilPod(
      kubelet,
      'crash',
      'in back-off',
      ({ containerStatuses }) => containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    const uid = uidOf(waiting);
    const ended = { exitCode: 7, reason: 'Error', startedAt: time, finishedAt: time, containerID };
    expect(containerStatus(waiting)).toMatchObject({
      restartCount: 1,
      ready: false,
      started: false,
      state: {
        waiting: {
          reason: 'CrashLoopBackOff',
          message: `back-off 10s restarting failed container=main pod=crash-${kubelet.nodeName}_default(${uid})`,
        },
      },
      lastState: { terminated: ended },
    });
    expect(containerStatus(waiting, 'well')).toMatchObject({ ready: true, restartCount: 0 });
    expect(waiting.status?.phase).toBe('Running');
    expect(waiting.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [main]',
    });

    const again = await untilPod(
      kubelet,
      'crash',
      'a second restart',
      // It may be reported as created and not yet started.
      ({ containerStatuses: [main] = [] }) =>
        main?.restartCount === 2 &&
        (main.state?.waiting === undefined || main.state.waiting.reason === 'CrashLoopBackOff'),
    );
    const startedAtNs = await waitFor(async () => {
      const { status } = await rig.cri.containerStatus({ containerId: containerIdOf(again) });
      return status?.startedAt || undefined;
    }, 'it to be started');
    const pauseSeconds =
      Number(startedAtNs / 1_000_000_000n) -
      secondsOf(containerStatus(waiting).lastState?.terminated?.finishedAt);
    expect(pauseSeconds).toBeGreaterThanOrEqual(9);
    expect(pauseSeconds).toBeLessThan(10 + 6 * slowness);
  });

  const ends = [
    ['OnFailure', 'exit 0', 'Succeeded', { exitCode: 0, reason: 'Completed' }],
    ['Never', 'exit 0', 'Succeeded', { exitCode: 0, reason: 'Completed' }],
    ['Never', 'exit 3', 'Failed', { exitCode: 3, reason: 'Error' }],
  ] as const;
  for (const [restartPolicy, script, phase, terminated] of ends) {
    test(`restartPolicy ${restartPolicy}: ${script} → ${phase}`, async () => {
      const name = `${restartPolicy.toLowerCase()}-${phase.toLowerCase()}`;
      own.write(name, manifest(name, { restartPolicy, containers: [container('main', script)] }));
      const pod = await untilPod(kubelet, name, phase, (status) => status.phase === phase);
      expect(containerStatus(pod)).toMatchObject({
        ready: false,
        restartCount: 0,
        state: { terminated: { ...terminated, containerID, startedAt: time, finishedAt: time } },
      });
      // Final state: the sandbox is stopped, the container is kept for its log, and nothing is restarted.
      const held = await untilRuntimePod(rig, kubelet, name, 'down', (each) =>
        each.sandboxes.every(({ ready }) => !ready),
      );
      expect(held.containers.map(({ state }) => state)).toEqual(['exited']);
    });
  }

  test('restartPolicy OnFailure restarts failed containers, and not those that succeeded', async () => {
    const containers = [container('bad', 'exit 9'), container('good', 'exit 0')];
    own.write('mixed', manifest('mixed', { restartPolicy: 'OnFailure', containers }));
    const pod = await untilPod(
      kubelet,
      'mixed',
      'bad in back-off, good done',
      ({ containerStatuses }) =>
        containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff' &&
        containerStatuses[1]?.state?.terminated !== undefined,
    );
    expect(containerStatus(pod, 'bad')).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 9 } },
    });
    expect(containerStatus(pod, 'good')).toMatchObject({
      restartCount: 0,
      state: { terminated: { exitCode: 0, reason: 'Completed' } },
    });
    expect(pod.status?.phase).toBe('Running');
  });
});
