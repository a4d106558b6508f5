// Failing pods: what happens to them, and that others are not affected.
import { expect, test } from 'vitest';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { KernelCgroups } from './support/kernel-cgroups.ts';
import { container, exitsOnTerm, ignoresTerm, manifest } from './support/manifest.ts';
import {
  containerIdOf,
  containerStatus,
  untilContainer,
  untilPod,
  untilRunning,
} from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';
import { useNode } from './support/suite-node.ts';

const crashers = 20;

describeOnRig('failing pods', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const own = useNode((node) => ({ rig, kubelet } = node));

  test('twenty crash-looping pods and a hung image pull do not affect other pods', async () => {
    own.write(
      'never',
      manifest('never', { containers: [container('main', exitsOnTerm, { image: 'nowhere.test/none:1' })] }),
    );
    for (let count = 0; count < crashers; count++)
      own.write(`crash-${count}`, manifest(`crash-${count}`, { containers: [container('main', 'exit 7')] }));
    const first = await own.start('first');
    for (let count = 0; count < crashers; count++)
      await untilContainer(
        kubelet,
        `crash-${count}`,
        'waits for its next start',
        ({ state }) => state?.waiting?.reason === 'CrashLoopBackOff',
      );
    const second = await own.start('second');
    for (const pod of [first, second]) {
      const now = await untilRunning(kubelet, (pod.metadata?.name ?? '').replace(`-${kubelet.nodeName}`, ''));
      expect(containerStatus(now)).toMatchObject({
        containerID: containerStatus(pod).containerID,
        restartCount: 0,
      });
    }
    await untilContainer(kubelet, 'never', 'waits for its image', ({ state }) =>
      /^(ErrImagePull|ImagePullBackOff)$/.test(state?.waiting?.reason ?? ''),
    );
  });

  test('a hung preStop hook ends with the grace period', async () => {
    const lifecycle = { preStop: { exec: { command: ['sleep', '2147483647'] } } };
    const containers = [container('main', ignoresTerm, { lifecycle })];
    const pod = await own.start('hangs', manifest('hangs', { terminationGracePeriodSeconds: 3, containers }));
    own.remove('hangs');
    await untilNoTraces(rig, kubelet, pod);
  });

  test('a container that exceeds its memory limit is reported as OOMKilled', async () => {
    // A single process, so that the kernel has no other choice.
    const greedy = 'exec tail /dev/zero';
    const containers = [container('main', greedy, { resources: { limits: { memory: '16Mi' } } })];
    own.write('greedy', manifest('greedy', { containers, restartPolicy: 'Never' }));
    const pod = await untilPod(kubelet, 'greedy', 'Failed', ({ phase }) => phase === 'Failed');
    expect(containerStatus(pod).state?.terminated).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
  });

  test('a child process that exceeds the memory limit ends its container on cgroup v2', async () => {
    const { version } = await KernelCgroups.find();
    const script = '(tail /dev/zero); sleep 2; exit 3';
    const containers = [container('main', script, { resources: { limits: { memory: '16Mi' } } })];
    own.write('parent', manifest('parent', { containers, restartPolicy: 'Never' }));
    const pod = await untilPod(kubelet, 'parent', 'Failed', ({ phase }) => phase === 'Failed');
    expect(containerStatus(pod).state?.terminated).toMatchObject({
      reason: 'OOMKilled',
      exitCode: version === 2 ? 137 : 3,
    });
  });

  test('a container removed from outside is recreated', async () => {
    const pod = await own.start('robbed');
    const id = containerIdOf(pod);
    await rig.cri.stopContainer({ containerId: id, timeout: 0 });
    await rig.cri.removeContainer({ containerId: id });
    const again = await untilContainer(
      kubelet,
      'robbed',
      'runs again',
      ({ containerID, ready }) => ready && containerID !== `containerd://${id}`,
    );
    expect(again.status?.phase).toBe('Running');
  });
});
