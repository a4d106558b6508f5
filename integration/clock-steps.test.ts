// The node's wall clock is stepped by an hour while pods run: running pods are not affected, waits keep their duration,
// and terminations take their normal time.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { container, exitsOnTerm, ignoresTerm, manifest } from './support/manifest.ts';
import { containerStatus, untilContainer, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';
import { fakeTimeUnavailableReason, SteppedClock } from './support/stepped-clock.ts';
import { TestPods } from './support/test-pods.ts';

const hour = 3600;
const title =
  fakeTimeUnavailableReason === undefined
    ? 'clock steps'
    : `clock steps (skipped: ${fakeTimeUnavailableReason})`;

describe.skipIf(fakeTimeUnavailableReason !== undefined)(title, () => {
  describeOnRig('of an hour', () => {
    let rig: Rig;
    let kubelet: Kubelet;
    let clock: SteppedClock;
    const own = new TestPods(() => kubelet);

    beforeAll(async () => {
      rig = await startRig();
      clock = new SteppedClock(rig.workspace.dir);
      kubelet = await rig.kubelet({
        env: clock.env,
        config: {
          featureGates: { KubeletCrashLoopBackOffMax: true },
          crashLoopBackOff: { maxContainerRestartPeriod: '3s' },
        },
      });
    });
    afterAll(() => rig.stop());

    const steps = [
      ['forward', hour],
      ['back again', 0],
      ['back', -hour],
      ['forward again', 0],
    ] as const;

    test('running pods keep running, crashed ones restart, new ones start, removed ones end', async () => {
      const probe = { exec: { command: ['true'] }, periodSeconds: 1 };
      const steady = await own.start(
        'steady',
        manifest('steady', {
          containers: [container('main', exitsOnTerm, { readinessProbe: probe, livenessProbe: probe })],
        }),
      );
      own.write('crash', manifest('crash', { containers: [container('main', 'exit 7')] }));
      for (const [way, seconds] of steps) {
        const name = way.replace(' ', '-');
        const leaving = await own.start(
          `leaves-${name}`,
          manifest(`leaves-${name}`, {
            terminationGracePeriodSeconds: 2,
            containers: [container('main', ignoresTerm)],
          }),
        );
        const restarts = await restartsOf(kubelet, 'crash');
        clock.set(seconds);
        own.remove(`leaves-${name}`);
        const fresh = await own.start(`new-${name}`);
        // Its start time shows that the kubelet's clock was really stepped.
        const offByMs = Date.parse(fresh.status?.startTime ?? '') - Date.now() - seconds * 1000;
        expect(Math.abs(offByMs), way).toBeLessThan(600_000);
        await untilContainer(
          kubelet,
          'crash',
          `is started once more after the clock went ${way}`,
          ({ restartCount }) => restartCount > restarts,
        );
        await untilNoTraces(rig, kubelet, leaving);
        own.remove(`new-${name}`);
        expect(stableState(await untilRunning(kubelet, 'steady')), way).toEqual(stableState(steady));
      }
    });
  });
});

async function restartsOf(kubelet: Kubelet, name: string): Promise<number> {
  const pod = await untilContainer(kubelet, name, 'has run', ({ lastState, state }) =>
    [state?.terminated, lastState?.terminated].some((end) => end !== undefined),
  );
  return containerStatus(pod).restartCount;
}

/** The part of a status that must not change for an undisturbed pod. */
function stableState({ status }: Pod): unknown {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    containers: status?.containerStatuses?.map(({ containerID, restartCount, state }) => ({
      containerID,
      restartCount,
      state,
    })),
    ready: ready?.lastTransitionTime,
    startTime: status?.startTime,
    podIP: status?.podIP,
  };
}
