// Outages of the runtime: the kubelet logs them once, leaves running containers alone, and continues afterwards.
import { expect, test } from 'vitest';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { manifest } from './support/manifest.ts';
import { containerIdOf, containerStatus, untilPod, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';
import { useNode } from './support/suite-node.ts';

const downMs = 20_000;
const lost = /^E.*Container runtime is unavailable/;
const back = /^I.*Container runtime is available again/;

describeOnRig('runtime outage', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  useNode((node) => ({ rig, kubelet } = node));

  test(`an outage of ${downMs / 1000} s is logged once, affects no pod, and changes during it are applied afterwards`, async () => {
    const names = ['one', 'two'];
    for (const name of names) kubelet.writeManifest(name, manifest(name));
    const before = await Promise.all(names.map((name) => untilRunning(kubelet, name)));
    const gone = before[1] ?? {};
    const from = kubelet.log.end;
    const pid = kubelet.pid;
    expect((await kubelet.healthz()).status).toBe(200);

    await rig.containerd.stop();
    const stoppedMs = performance.now();
    await waitFor(async () => (await kubelet.healthz()).status === 500, '/healthz to fail', 10_000);
    expect((await kubelet.healthz()).text).toMatch(/^\[-\]runtime failed/m);
    // During the outage one manifest is added and another removed.
    kubelet.writeManifest('meanwhile', manifest('meanwhile'));
    kubelet.removeManifest('two');
    await untilPod(kubelet, 'meanwhile', 'known', ({ phase }) => phase === 'Pending');
    expect(containerStatus((await kubelet.pod('one')) ?? {}).ready).toBe(true);
    await waitFor(() => performance.now() - stoppedMs > downMs, 'the outage to last long enough', 60_000);
    expect((await kubelet.healthz()).status).toBe(500);

    await rig.containerd.start();
    await waitFor(async () => (await kubelet.healthz()).status === 200, '/healthz to be ok', 10_000);
    await untilRunning(kubelet, 'meanwhile');
    await untilNoTraces(rig, kubelet, gone);
    const one = await untilRunning(kubelet, 'one');
    expect(containerIdOf(one)).toBe(containerIdOf(before[0] ?? {}));
    expect(containerStatus(one).restartCount).toBe(0);
    expect(kubelet.pid).toBe(pid);

    expect(kubelet.log.matching(lost, from)).toHaveLength(1);
    expect(kubelet.log.matching(back, from)).toHaveLength(1);
    // No other warnings: no flood from workers, inspections or retries.
    expect(kubelet.log.matching(/^[EW]/, from)).toEqual(kubelet.log.matching(lost, from));
  });

  test('a kubelet started during an outage waits for the runtime, and can be stopped meanwhile', async () => {
    await kubelet.stop();
    await rig.containerd.stop();
    const from = kubelet.log.end;
    await kubelet.start();
    expect((await kubelet.healthz()).status).toBe(500);
    expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
    await kubelet.start();
    await rig.containerd.start();
    await untilRunning(kubelet, 'one');
    expect(kubelet.log.matching(lost, from)).toHaveLength(2);
    expect(kubelet.log.matching(back, from)).toHaveLength(1);
  });
});
