// Single calls of the runtime may hang or fail: their pod waits, every other pod goes on, and so does the relist.
// On a real containerd, through the built command.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { KubeletError } from '../src/base/errors.ts';
import type { CriMethodName, Stall } from '../test/fake-cri/faults.ts';
import { buildBusyboxImage } from './rig/images.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { containerIdOf, containerStatus, uidOf, untilRestarted, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';
import { killTask, runtimePod } from './support/runtime-pods.ts';
import { type StalledRig, startStalledRig } from './support/stalling-cri.ts';

const lost = /^E.*Container runtime is unavailable/;
const back = /^I.*Container runtime is available again/;

describeOnRig('runtime whose calls hang or fail', () => {
  let stalled: StalledRig;
  let rig: StalledRig['rig'];
  let cri: StalledRig['cri'];
  let kubelet: StalledRig['kubelet'];
  let stalls: Stall[] = [];

  beforeAll(async () => {
    stalled = await startStalledRig();
    ({ rig, cri, kubelet } = stalled);
  });
  afterAll(async () => await stalled.stop());
  afterEach(() => {
    for (const stall of stalls) stall.release();
    stalls = [];
  });

  const stall = async (method: CriMethodName, name: string, times = 1000): Promise<Stall> => {
    const match = await cri.about(`${name}-${kubelet.nodeName}`);
    const one = cri.faults.stall(method, { match, times });
    stalls.push(one);
    return one;
  };
  const untilStalled = (one: Stall): Promise<boolean> => waitFor(() => one.waiting > 0, 'the call to hang');

  /** While a call hangs: others start, health is well, the relist goes on. */
  const othersGoOn = async (name: string): Promise<void> => {
    const from = cri.calls.length;
    const other = `beside-${name}`;
    kubelet.writeManifest(other, manifest(other));
    const pod = await untilRunning(kubelet, other);
    const lists = (): number =>
      cri.calls.slice(from).filter(({ method }) => method === 'listPodSandbox').length;
    await waitFor(() => lists() >= 3, 'the relist to go on');
    expect(await kubelet.healthz()).toEqual({ status: 200, text: 'ok' });
    kubelet.removeManifest(other);
    await untilNoTraces(rig, kubelet, pod);
  };

  const waitsAndGoesOn = async (name: string, one: Stall): Promise<void> => {
    await untilStalled(one);
    await othersGoOn(name);
    expect((await kubelet.pod(name))?.status?.phase).toBe('Pending');
    one.release();
    const pod = await untilRunning(kubelet, name);
    expect(containerStatus(pod).restartCount).toBe(0);
    const held = await runtimePod(rig, kubelet, name);
    expect([held.sandboxes.length, held.containers.length]).toEqual([1, 1]);
  };

  for (const method of ['runPodSandbox', 'createContainer'] as const) {
    test(`${method} that does not answer: its pod waits, the others go on`, async () => {
      const name = `hung-${method.toLowerCase()}`;
      const one = await stall(method, name);
      kubelet.writeManifest(name, manifest(name));
      await waitsAndGoesOn(name, one);
    });
  }

  for (const method of ['imageStatus', 'pullImage'] as const) {
    test(`${method} that does not answer: its pod waits, the others go on`, async () => {
      const name = `hung-${method.toLowerCase()}`;
      const image = rig.registry.add(`${name}:1`, await buildBusyboxImage());
      const one = cri.faults.stall(method, {
        times: 1000,
        match: (request) => request.image?.image === image,
      });
      stalls.push(one);
      kubelet.writeManifest(
        name,
        manifest(name, { containers: [container('main', exitsOnTerm, { image })] }),
      );
      await waitsAndGoesOn(name, one);
    });
  }

  test('startContainer that does not answer: its pod waits, the others go on', async () => {
    // The container is not known before it is made: hold it there until its name is.
    const made = await stall('createContainer', 'hung-start');
    kubelet.writeManifest('hung-start', manifest('hung-start'));
    await untilStalled(made);
    const one = cri.faults.stall('startContainer');
    stalls.push(one);
    made.release();
    await waitsAndGoesOn('hung-start', one);
  });

  test('containerStatus that does not answer: what is known of the pod stays, the others go on', async () => {
    kubelet.writeManifest('hung-look', manifest('hung-look'));
    const before = await untilRunning(kubelet, 'hung-look');
    const one = await stall('containerStatus', 'hung-look');
    await killTask(rig, containerIdOf(before));
    await untilStalled(one);
    await othersGoOn('hung-look');
    expect(containerStatus((await kubelet.pod('hung-look')) ?? {}).restartCount).toBe(0);
    one.release();
    await untilRestarted(kubelet, 'hung-look', 1);
  });

  test('podSandboxStatus that does not answer: its pod waits, the others go on', async () => {
    kubelet.writeManifest('hung-box', manifest('hung-box'));
    const before = await untilRunning(kubelet, 'hung-box');
    const one = await stall('podSandboxStatus', 'hung-box');
    const { sandboxes } = await runtimePod(rig, kubelet, 'hung-box');
    await killTask(rig, sandboxes[0]?.id ?? '');
    await untilStalled(one);
    await othersGoOn('hung-box');
    one.release();
    const after = await untilRestarted(kubelet, 'hung-box', 1);
    expect(uidOf(after)).toBe(uidOf(before));
  });

  for (const method of ['stopContainer', 'stopPodSandbox', 'removePodSandbox'] as const) {
    test(`${method} that does not answer: the pod goes on ending, the others go on`, async () => {
      const name = `hung-${method.toLowerCase()}`;
      kubelet.writeManifest(name, manifest(name));
      const pod = await untilRunning(kubelet, name);
      const one = await stall(method, name);
      kubelet.removeManifest(name);
      await untilStalled(one);
      await othersGoOn(name);
      one.release();
      await untilNoTraces(rig, kubelet, pod);
    });
  }

  test('SIGTERM while a call hangs: a clean end within seconds', async () => {
    const one = await stall('runPodSandbox', 'hung-term');
    kubelet.writeManifest('hung-term', manifest('hung-term'));
    await untilStalled(one);
    const beganMs = performance.now();
    expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - beganMs).toBeLessThan(15_000);
    one.release();
    await kubelet.start();
    expect(containerStatus(await untilRunning(kubelet, 'hung-term')).restartCount).toBe(0);
  });

  test('a runtime that fails a few times: tried again until it works, and said once', async () => {
    const from = kubelet.log.end;
    const match = await cri.about(`failing-${kubelet.nodeName}`);
    const error = new KubeletError('internal', 'INTERNAL', 'no more addresses');
    cri.faults.fail('runPodSandbox', error, { match, times: 3 });
    kubelet.writeManifest('failing', manifest('failing'));
    const pod = await untilRunning(kubelet, 'failing');
    expect(containerStatus(pod).restartCount).toBe(0);
    expect(
      kubelet.log.matching(/^E(?=.*failing-)(?=.*Failed to create pod sandbox: no more addresses)/, from),
    ).toHaveLength(1);
  });

  test('a runtime that fails between two calls: what was made before is used, not made again', async () => {
    const match = await cri.about(`between-${kubelet.nodeName}`);
    const error = new KubeletError('unavailable', 'UNAVAILABLE', 'too busy');
    cri.faults.fail('createContainer', error, { match, times: 2 });
    kubelet.writeManifest('between', manifest('between'));
    const pod = await untilRunning(kubelet, 'between');
    const made = cri.calls.filter(({ method, request }) => method === 'runPodSandbox' && match(request));
    expect(made).toHaveLength(1);
    expect(containerStatus(pod).restartCount).toBe(0);
  });

  test('listContainers that does not answer once: given up after its deadline, then all is well', async () => {
    kubelet.writeManifest('listed', manifest('listed'));
    const before = await untilRunning(kubelet, 'listed');
    const from = kubelet.log.end;
    const one = cri.faults.stall('listContainers', { match: ({ filter }) => filter === undefined });
    stalls.push(one);
    await untilStalled(one);
    // Meanwhile nobody looks at the whole, but single pods are looked at and so can be started.
    kubelet.writeManifest('unlisted', manifest('unlisted'));
    await untilRunning(kubelet, 'unlisted');
    await kubelet.log.waitForLine(lost, { from, timeoutMs: 40_000 });
    await kubelet.log.waitForLine(back, { from });
    await waitFor(async () => (await kubelet.healthz()).status === 200, '/healthz to say yes');
    expect(containerIdOf(await untilRunning(kubelet, 'listed'))).toBe(containerIdOf(before));
    await killTask(rig, containerIdOf(before));
    await untilRestarted(kubelet, 'listed', 1);
  });
});
