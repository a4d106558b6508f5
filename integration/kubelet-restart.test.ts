// Kills and restarts of the kubelet at any moment: running pods are not affected, nothing is created twice, and changes
// meanwhile are applied.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, ignoresTerm, manifest } from './support/manifest.ts';
import { containerIdOf, uidOf, untilPod, untilRestarted, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';
import {
  killTask,
  type RuntimePod,
  runtimePod,
  untilRuntimePod,
  watchRunningUids,
} from './support/runtime-pods.ts';

const clean = { code: 0, signal: null };
const two = { containers: [container('a'), container('b')] };

describeOnRig('kubelet restart', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let count = 0;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  // Each test has directories of its own, so that it does not see the leftovers of another.
  beforeEach(() => {
    count += 1;
    kubelet = rig.newKubelet({ name: `k${count}`, nodeName: 'node' });
  });
  afterEach(async () => {
    if (kubelet.running) await kubelet.stop();
    await rig.removeAllPods();
  });

  /** What must hold for a pod of two containers, however often the kubelet was killed during its start. */
  const untilWhole = async (name: string): Promise<RuntimePod> => {
    await untilRunning(kubelet, name);
    const held = await untilRuntimePod(
      rig,
      kubelet,
      name,
      'one sandbox and two containers',
      ({ sandboxes, containers }) => sandboxes.length === 1 && containers.length === 2,
    );
    expect(held.sandboxes[0]?.ready).toBe(true);
    expect(held.containers.map((each) => [each.name, each.state, each.restartCount])).toEqual([
      ['a', 'running', 0],
      ['b', 'running', 0],
    ]);
    return held;
  };

  test('a pod is started once over a kill of the kubelet at any moment after its manifest appeared', async () => {
    const whole = new Map<string, RuntimePod>();
    await kubelet.start();
    for (const delayMs of [20, 60, 100, 150, 200, 250, 300, 350, 400, 600]) {
      const name = `born-${delayMs}`;
      // With restartPolicy Never, an interrupted start must not count as the pod's only run.
      const restartPolicy = delayMs % 100 === 0 ? 'Never' : 'Always';
      kubelet.writeManifest(name, manifest(name, { ...two, restartPolicy }));
      await sleep(delayMs);
      const before = await runtimePod(rig, kubelet, name);
      await kubelet.kill9();
      await kubelet.start();
      const after = await untilWhole(name);
      // The containers that ran at the kill still run.
      const ran = before.containers.filter(({ state }) => state === 'running').map(({ id }) => id);
      expect(after.containers.map(({ id }) => id)).toEqual(expect.arrayContaining(ran));
      whole.set(name, after);
    }
    for (const [name, held] of whole) expect(await untilWhole(name)).toEqual(held);
  });

  test('several pods are each started once over repeated kills of the kubelet', async () => {
    const names = ['p1', 'p2', 'p3', 'p4'];
    await kubelet.start();
    for (const name of names) kubelet.writeManifest(name, manifest(name, two));
    for (const delayMs of [100, 250, 400]) {
      await sleep(delayMs);
      await kubelet.kill9();
      await kubelet.start();
    }
    for (const name of names) await untilWhole(name);
  });

  test('a kill with running pods changes neither /pods nor the containers', async () => {
    const names = ['steady', 'shaky', 'done'];
    await kubelet.start();
    kubelet.writeManifest('steady', manifest('steady', two));
    kubelet.writeManifest('shaky', manifest('shaky', { restartPolicy: 'OnFailure' }));
    kubelet.writeManifest(
      'done',
      manifest('done', { restartPolicy: 'Never', containers: [container('main', 'exit 4')] }),
    );
    await untilRunning(kubelet, 'steady');
    const whole = await untilRunning(kubelet, 'shaky');
    await killTask(rig, containerIdOf(whole));
    await untilRestarted(kubelet, 'shaky', 1);
    // Completely ended, so that its status does not change any more.
    await untilPod(kubelet, 'done', 'Failed', ({ phase, conditions }) => {
      const sandbox = conditions?.find(({ type }) => type === 'PodReadyToStartContainers');
      return phase === 'Failed' && sandbox?.status === 'False';
    });
    const before = await reportedPods();
    const held = await Promise.all(names.map((name) => runtimePod(rig, kubelet, name)));
    await kubelet.kill9();
    await kubelet.start({ untilReady: false });
    const flips = new Set<string>();
    const asBefore = async (): Promise<boolean> => {
      const now = await reportedPods();
      // A pod may be missing yet, but its readiness must be the same as before.
      for (const [name, pod] of Object.entries(now)) {
        const ready = readiness(pod);
        if (ready !== undefined && ready !== readiness(before[name])) flips.add(`${name}: ${ready}`);
      }
      return isDeepStrictEqual(now, before);
    };
    // On a timeout the comparison below shows the difference.
    await waitFor(asBefore, 'the pods to be reported as before', 15_000).catch(() => undefined);
    expect(await reportedPods()).toEqual(before);
    expect([...flips]).toEqual([]);
    expect(await Promise.all(names.map((name) => runtimePod(rig, kubelet, name)))).toEqual(held);
  });

  /** /pods without what depends on the run of the kubelet: when it first saw a pod, when a condition changed. */
  const reportedPods = async (): Promise<Record<string, Pod>> => {
    const pods = (await kubelet.pods()).map((pod): [string, Pod] => {
      const annotations = { ...pod.metadata?.annotations, 'kubernetes.io/config.seen': '' };
      const conditions = pod.status?.conditions?.map((each) => ({ ...each, lastTransitionTime: '' }));
      // The runtime drops the address of a stopped sandbox.
      const ended = pod.status?.phase === 'Failed' ? { podIP: '', podIPs: [] } : {};
      const status = { ...pod.status, ...ended, ...(conditions === undefined ? {} : { conditions }) };
      return [pod.metadata?.name ?? '', { ...pod, metadata: { ...pod.metadata, annotations }, status }];
    });
    return Object.fromEntries(pods);
  };
  const readiness = (pod: Pod | undefined): string | undefined =>
    pod?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;

  for (const delayMs of [0, 300, 1500]) {
    test(`a kill ${delayMs} ms after the termination of a pod began: it ends after the restart`, async () => {
      await kubelet.start();
      const slow = { terminationGracePeriodSeconds: 2, containers: [container('main', ignoresTerm)] };
      kubelet.writeManifest('ending', manifest('ending', slow));
      const pod = await untilRunning(kubelet, 'ending');
      kubelet.removeManifest('ending');
      await kubelet.log.waitForLine(new RegExp(`Stopping container.*${containerIdOf(pod)}`));
      await sleep(delayMs);
      await kubelet.kill9();
      await kubelet.start();
      await untilNoTraces(rig, kubelet, pod);
    });
  }

  test('a manifest removed while the kubelet is down ends the pod after the start', async () => {
    await kubelet.start();
    for (const name of ['gone', 'stays']) kubelet.writeManifest(name, manifest(name));
    const gone = await untilRunning(kubelet, 'gone');
    const stays = await untilRunning(kubelet, 'stays');
    await kubelet.kill9();
    kubelet.removeManifest('gone');
    await kubelet.start();
    await untilNoTraces(rig, kubelet, gone);
    expect(containerIdOf(await untilRunning(kubelet, 'stays'))).toBe(containerIdOf(stays));
  });

  test('a manifest edited while the kubelet is down replaces the pod', async () => {
    await kubelet.start();
    kubelet.writeManifest('edited', manifest('edited', { metadata: { labels: { app: 'a' } } }));
    const before = await untilRunning(kubelet, 'edited');
    await kubelet.kill9();
    kubelet.writeManifest('edited', manifest('edited', { metadata: { labels: { app: 'b' } } }));
    const watch = await watchRunningUids(rig, kubelet, 'edited');
    await kubelet.start();
    const after = await untilRunning(kubelet, 'edited');
    const seen = await watch.stop();
    expect(uidOf(after)).not.toBe(uidOf(before));
    expect(seen).not.toContain([uidOf(before), uidOf(after)].toSorted().join('+'));
    await untilNoTraces(rig, kubelet, before);
  });

  for (const delayMs of [0, 50, 100, 200, 300, 450]) {
    test(`SIGTERM ${delayMs} ms after the start exits cleanly`, async () => {
      await kubelet.start({ untilReady: false });
      await sleep(delayMs);
      const exit = await kubelet.stop();
      // Before the program runs, no handler can be installed, and there is nothing to shut down.
      const begun = exit.signal === null || kubelet.log.text() !== '';
      expect(exit).toEqual(begun ? clean : { code: null, signal: 'SIGTERM' });
      expect(kubelet.log.matching(/^[EF]/)).toEqual([]);
    });
  }

  test('SIGTERM after the first log line exits cleanly and does not affect running pods', async () => {
    await kubelet.start();
    kubelet.writeManifest('runs', manifest('runs', two));
    const held = await untilWhole('runs');
    expect(await kubelet.stop()).toEqual(clean);
    const from = kubelet.log.end;
    await kubelet.start({ untilReady: false });
    await kubelet.log.waitForLine(/./, { from });
    expect(await kubelet.stop()).toEqual(clean);
    expect(await runtimePod(rig, kubelet, 'runs')).toEqual(held);
  });

  for (const delayMs of [30, 120, 250, 400, 700]) {
    test(`SIGTERM ${delayMs} ms after a manifest appeared exits cleanly, and the pod is started once`, async () => {
      await kubelet.start();
      kubelet.writeManifest('synced', manifest('synced', two));
      await sleep(delayMs);
      expect(await kubelet.stop()).toEqual(clean);
      const left = await runtimePod(rig, kubelet, 'synced');
      expect(left.containers.map(({ state }) => state)).not.toContain('exited');
      await kubelet.start();
      const { containers } = await untilWhole('synced');
      expect(containers.map(({ id }) => id)).toEqual(
        expect.arrayContaining(left.containers.map(({ id }) => id)),
      );
    });
  }

  test('SIGTERM while a pod terminates exits cleanly within seconds, and the termination continues after the restart', async () => {
    await kubelet.start();
    const slow = { terminationGracePeriodSeconds: 20, containers: [container('main', ignoresTerm)] };
    kubelet.writeManifest('slow', manifest('slow', slow));
    const pod = await untilRunning(kubelet, 'slow');
    kubelet.removeManifest('slow');
    await kubelet.log.waitForLine(/Stopping container/);
    const beganMs = performance.now();
    expect(await kubelet.stop()).toEqual(clean);
    expect(performance.now() - beganMs).toBeLessThan(15_000);
    expect((await runtimePod(rig, kubelet, 'slow')).containers.map(({ state }) => state)).toEqual([
      'running',
    ]);
    await killTask(rig, containerIdOf(pod));
    await kubelet.start();
    await untilNoTraces(rig, kubelet, pod);
  });
});
