// Terminations and replacements of pods: removed, edited, moved, killed from outside. A pod leaves nothing behind, and
// its successor starts only after its end.
import { expect, test } from 'vitest';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { container, exitsOnTerm, ignoresTerm, manifest } from './support/manifest.ts';
import {
  containerIdOf,
  containerStatus,
  uidOf,
  untilContainer,
  untilNoPod,
  untilPod,
  untilRestarted,
} from './support/pod-state.ts';
import { allTraces, podTraces, untilNoTraces } from './support/pod-traces.ts';
import { killTask, runtimePod, watchRunningUids } from './support/runtime-pods.ts';
import { useNode } from './support/suite-node.ts';

describeOnRig('pod termination', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const own = useNode((node) => ({ rig, kubelet } = node));

  test('a removed manifest ends the pod, which leaves nothing behind', async () => {
    const pod = await own.start('leaves', manifest('leaves', { terminationGracePeriodSeconds: 30 }));
    // Verifies that podTraces finds every kind of resource, so that its empty result below is meaningful.
    expect(await podTraces(rig, kubelet, pod)).toEqual(allTraces);
    const beganMs = performance.now();
    own.remove('leaves');
    await untilNoTraces(rig, kubelet, pod);
    // It exited on SIGTERM, before the end of its grace period.
    expect(performance.now() - beganMs).toBeLessThan(25_000);
    await untilNoPod(kubelet, 'leaves');
  });

  test('a container that ignores SIGTERM is killed after its grace period', async () => {
    const stubborn = { terminationGracePeriodSeconds: 3, containers: [container('main', ignoresTerm)] };
    const pod = await own.start('stubborn', manifest('stubborn', stubborn));
    const beganMs = performance.now();
    own.remove('stubborn');
    await untilNoTraces(rig, kubelet, pod);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(3_000);
    expect(performance.now() - beganMs).toBeLessThan(30_000);
  });

  test('an edited manifest replaces the pod: the old one ends before the new one starts', async () => {
    const slow = { terminationGracePeriodSeconds: 2, containers: [container('main', ignoresTerm)] };
    const before = await own.start('edited', manifest('edited', slow));
    const watch = await watchRunningUids(rig, kubelet, 'edited');
    own.write(
      'edited',
      manifest('edited', {
        containers: [container('main', exitsOnTerm, { env: [{ name: 'A', value: '1' }] })],
      }),
    );
    const after = await untilPod(
      kubelet,
      'edited',
      'replaced',
      (status, pod) => uidOf(pod) !== uidOf(before) && status.containerStatuses?.[0]?.ready === true,
    );
    const seen = await watch.stop();
    expect(seen.toSorted()).toEqual([uidOf(before), '', uidOf(after)].toSorted());
    expect(await podTraces(rig, kubelet, before)).toEqual([]);
    expect(containerStatus(after).restartCount).toBe(0);
  });

  test('a file moved away and back starts the pod again', async () => {
    const before = await own.start('back');
    own.remove('back');
    await untilNoTraces(rig, kubelet, before);
    const after = await own.start('back');
    expect(uidOf(after)).toBe(uidOf(before));
    expect(containerIdOf(after)).not.toBe(containerIdOf(before));
    expect(containerStatus(after).restartCount).toBe(0);
  });

  test('a file restored while its pod terminates restarts the pod after its end', async () => {
    const slow = manifest('returns', {
      terminationGracePeriodSeconds: 2,
      containers: [container('main', ignoresTerm)],
    });
    const before = await own.start('returns', slow);
    own.remove('returns');
    await kubelet.log.waitForLine(new RegExp(`Stopping container.*${containerIdOf(before)}`));
    own.write('returns', slow);
    const after = await untilContainer(
      kubelet,
      'returns',
      'replaced and ready',
      ({ containerID, ready }) => ready && containerID !== containerStatus(before).containerID,
    );
    expect(containerStatus(after).restartCount).toBe(1);
    const held = await runtimePod(rig, kubelet, 'returns');
    const running = held.containers.filter(({ state }) => state === 'running');
    expect(running.map(({ id }) => id)).toEqual([containerIdOf(after)]);
    expect(held.sandboxes.filter(({ ready }) => ready)).toHaveLength(1);
  });

  test('a container killed from outside is restarted', async () => {
    const before = await own.start('killed');
    await killTask(rig, containerIdOf(before));
    const after = await untilRestarted(kubelet, 'killed', 1);
    expect(containerIdOf(after)).not.toBe(containerIdOf(before));
    expect(containerStatus(after).lastState?.terminated).toMatchObject({
      exitCode: 137,
      reason: 'Error',
      containerID: containerStatus(before).containerID,
    });
    expect((await runtimePod(rig, kubelet, 'killed')).sandboxes.map(({ attempt }) => attempt)).toEqual([0]);
  });

  test('a sandbox killed from outside is replaced with its containers', async () => {
    const before = await own.start('shaken');
    const [sandbox] = (await runtimePod(rig, kubelet, 'shaken')).sandboxes;
    await killTask(rig, sandbox?.id ?? '');
    const after = await untilRestarted(kubelet, 'shaken', 1);
    const held = await runtimePod(rig, kubelet, 'shaken');
    expect(uidOf(after)).toBe(uidOf(before));
    expect(containerIdOf(after)).toBe(held.containers.find(({ state }) => state === 'running')?.id);
    // The first sandbox is kept for its container, whose termination is reported and whose log can be read.
    expect(containerStatus(after).lastState?.terminated?.containerID).toBe(
      containerStatus(before).containerID,
    );
    expect(held.sandboxes.map(({ attempt, ready }) => [attempt, ready])).toEqual([
      [0, false],
      [1, true],
    ]);
    const fresh = held.sandboxes.find(({ ready }) => ready)?.id ?? '';
    const { status } = await rig.cri.podSandboxStatus({ podSandboxId: fresh });
    expect(after.status?.podIP).toBe(status?.network?.ip);
  });
});
