// Restart counts under churn, while the kubelet is repeatedly killed at any moment of starts. No container crashes, so
// none may have a restart.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { criAnnotations, criLabels } from '../src/api/cri/labels.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';
import { containerIdOf, containerStatus, untilRestarted, untilRunning } from './support/pod-state.ts';
import { killTask } from './support/runtime-pods.ts';

const kills = 30;
const perRound = 3;
const mostPods = 9;
/** A kubelet calls the runtime about a third of a second after its start, and a pod takes as long to start. */
const earliestMs = 200;
const spreadMs = 1_200;

/** Reproducible random moments. */
function* moments(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield state / 2 ** 31;
  }
}

describeOnRig('restart counts', () => {
  let rig: Rig;
  let kubelet: Kubelet;

  beforeAll(async () => {
    rig = await startRig();
    kubelet = rig.newKubelet();
    await kubelet.start();
  });
  afterAll(() => rig.stop());

  /** `pod/container: count` of every container in the runtime with a count other than 0. */
  const counted = async (): Promise<readonly string[]> =>
    (await rig.cri.listContainers({})).containers
      .filter(({ annotations }) => annotations[criAnnotations.restartCount] !== '0')
      .map(({ annotations, labels }) => {
        const name = `${labels[criLabels.podName]}/${labels[criLabels.containerName]}`;
        return `${name}: ${annotations[criAnnotations.restartCount]}`;
      });

  test('repeated kills at any moment of a start cause no false restart count', async () => {
    const random = moments(20_261_118);
    const alive: string[] = [];
    const restarted = new Set<string>();
    for (let round = 0; round < kills; round += 1) {
      for (let i = 0; i < perRound; i += 1) {
        const name = `p-${round}-${i}`;
        kubelet.writeManifest(name, manifest(name, { containers: [container('a'), container('b')] }));
        alive.push(name);
        if (alive.length > mostPods) kubelet.removeManifest(alive.shift() ?? '');
      }
      await sleep(earliestMs + random.next().value * spreadMs);
      await kubelet.kill9();
      for (const each of await counted()) restarted.add(each);
      await kubelet.start({ untilReady: false });
    }
    await kubelet.waitUntilReady();
    for (const name of alive) {
      const pod = await untilRunning(kubelet, name);
      for (const each of ['a', 'b']) {
        const { lastState, restartCount } = containerStatus(pod, each);
        expect({ restartCount, lastState }, `${name}/${each}`).toEqual({ restartCount: 0, lastState: {} });
      }
    }
    expect([...restarted]).toEqual([]);
    for (const name of alive) kubelet.removeManifest(name);
    await waitFor(async () => (await kubelet.pods()).length === 0, 'all pods to be removed');
  });

  test('a container that exits while the kubelet is down counts, after interrupted starts as well', async () => {
    kubelet.writeManifest('crash', manifest('crash'));
    await sleep(150);
    await kubelet.kill9();
    await kubelet.start();
    const pod = await untilRunning(kubelet, 'crash');
    await kubelet.kill9();
    await killTask(rig, containerIdOf(pod));
    await kubelet.start();
    const again = await untilRestarted(kubelet, 'crash', 1);
    expect(containerStatus(again).lastState?.terminated?.exitCode).toBe(137);
    kubelet.removeManifest('crash');
  });
});
