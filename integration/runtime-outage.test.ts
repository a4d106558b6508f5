// The runtime may go away: the kubelet stays, says so once, leaves running containers alone and carries on when it is back.
// On a real containerd, through the built command.
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

describeOnRig('runtime that goes away', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  useNode((node) => ({ rig, kubelet } = node));

  test(`containerd stopped for ${downMs / 1000} s: said once, nothing is touched, everything is made up for`, async () => {
    const names = ['one', 'two'];
    for (const name of names) kubelet.writeManifest(name, manifest(name));
    const before = await Promise.all(names.map((name) => untilRunning(kubelet, name)));
    const gone = before[1] ?? {};
    const from = kubelet.log.end;
    const pid = kubelet.pid;
    expect((await kubelet.healthz()).status).toBe(200);

    await rig.containerd.stop();
    const stoppedMs = performance.now();
    await waitFor(async () => (await kubelet.healthz()).status === 500, '/healthz to say no', 10_000);
    expect((await kubelet.healthz()).text).toMatch(/^\[-\]runtime failed/m);
    // What happens meanwhile: a manifest comes, another goes.
    kubelet.writeManifest('meanwhile', manifest('meanwhile'));
    kubelet.removeManifest('two');
    await untilPod(kubelet, 'meanwhile', 'known', ({ phase }) => phase === 'Pending');
    expect(containerStatus((await kubelet.pod('one')) ?? {}).ready).toBe(true);
    await waitFor(
      () => performance.now() - stoppedMs > downMs,
      'the runtime to have been away long enough',
      60_000,
    );
    expect((await kubelet.healthz()).status).toBe(500);

    await rig.containerd.start();
    await waitFor(async () => (await kubelet.healthz()).status === 200, '/healthz to say yes', 10_000);
    await untilRunning(kubelet, 'meanwhile');
    await untilNoTraces(rig, kubelet, gone);
    const one = await untilRunning(kubelet, 'one');
    expect(containerIdOf(one)).toBe(containerIdOf(before[0] ?? {}));
    expect(containerStatus(one).restartCount).toBe(0);
    expect(kubelet.pid).toBe(pid);

    expect(kubelet.log.matching(lost, from)).toHaveLength(1);
    expect(kubelet.log.matching(back, from)).toHaveLength(1);
    // Nothing else was worth a warning: no flood from workers, inspections or retries.
    expect(kubelet.log.matching(/^[EW]/, from)).toEqual(kubelet.log.matching(lost, from));
  });

  test('started while the runtime is away: waits for it, and stops cleanly meanwhile', async () => {
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
