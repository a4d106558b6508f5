// Hung and failed calls of the runtime: only their pod waits; other pods and the relist proceed.
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

describeOnRig('runtime faults', () => {
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

  /** While a call hangs: other pods start, /healthz is ok, the relist proceeds. */
  const expectOthersUnaffected = async (name: string): Promise<void> => {
    const from = cri.calls.length;
    const other = `beside-${name}`;
    kubelet.writeManifest(other, manifest(other));
    const pod = await untilRunning(kubelet, other);
    const lists = (): number =>
      cri.calls.slice(from).filter(({ method }) => method === 'listPodSandbox').length;
    await waitFor(() => lists() >= 3, 'the relist to proceed');
    expect(await kubelet.healthz()).toEqual({ status: 200, text: 'ok' });
    kubelet.removeManifest(other);
    await untilNoTraces(rig, kubelet, pod);
  };

  const expectOnlyPodWaits = async (name: string, one: Stall): Promise<void> => {
    await untilStalled(one);
    await expectOthersUnaffected(name);
    expect((await kubelet.pod(name))?.status?.phase).toBe('Pending');
    one.release();
    const pod = await untilRunning(kubelet, name);
    expect(containerStatus(pod).restartCount).toBe(0);
    const held = await runtimePod(rig, kubelet, name);
    expect([held.sandboxes.length, held.containers.length]).toEqual([1, 1]);
  };

  for (const method of ['runPodSandbox', 'createContainer'] as const) {
    test(`a hung ${method} delays only its pod`, async () => {
      const name = `hung-${method.toLowerCase()}`;
      const one = await stall(method, name);
      kubelet.writeManifest(name, manifest(name));
      await expectOnlyPodWaits(name, one);
    });
  }

  for (const method of ['imageStatus', 'pullImage'] as const) {
    test(`a hung ${method} delays only its pod`, async () => {
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
      await expectOnlyPodWaits(name, one);
    });
  }

  test('a hung startContainer delays only its pod', async () => {
    // The container has no ID before it is created, so createContainer is held first.
    const held = await stall('createContainer', 'hung-start');
    kubelet.writeManifest('hung-start', manifest('hung-start'));
    await untilStalled(held);
    const one = cri.faults.stall('startContainer');
    stalls.push(one);
    held.release();
    await expectOnlyPodWaits('hung-start', one);
  });

  test('a hung containerStatus keeps the last status of its pod and affects no other', async () => {
    kubelet.writeManifest('hung-look', manifest('hung-look'));
    const before = await untilRunning(kubelet, 'hung-look');
    const one = await stall('containerStatus', 'hung-look');
    await killTask(rig, containerIdOf(before));
    await untilStalled(one);
    await expectOthersUnaffected('hung-look');
    expect(containerStatus((await kubelet.pod('hung-look')) ?? {}).restartCount).toBe(0);
    one.release();
    await untilRestarted(kubelet, 'hung-look', 1);
  });

  test('a hung podSandboxStatus delays only its pod', async () => {
    kubelet.writeManifest('hung-box', manifest('hung-box'));
    const before = await untilRunning(kubelet, 'hung-box');
    const one = await stall('podSandboxStatus', 'hung-box');
    const { sandboxes } = await runtimePod(rig, kubelet, 'hung-box');
    await killTask(rig, sandboxes[0]?.id ?? '');
    await untilStalled(one);
    await expectOthersUnaffected('hung-box');
    one.release();
    const after = await untilRestarted(kubelet, 'hung-box', 1);
    expect(uidOf(after)).toBe(uidOf(before));
  });

  for (const method of ['stopContainer', 'stopPodSandbox', 'removePodSandbox'] as const) {
    test(`a hung ${method} delays only the end of its pod`, async () => {
      const name = `hung-${method.toLowerCase()}`;
      kubelet.writeManifest(name, manifest(name));
      const pod = await untilRunning(kubelet, name);
      const one = await stall(method, name);
      kubelet.removeManifest(name);
      await untilStalled(one);
      await expectOthersUnaffected(name);
      one.release();
      await untilNoTraces(rig, kubelet, pod);
    });
  }

  test('SIGTERM during a hung call exits cleanly within seconds', async () => {
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

  test('failed calls are retried until they succeed, and logged once', async () => {
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

  test('a failed call does not discard what earlier calls created', async () => {
    const match = await cri.about(`between-${kubelet.nodeName}`);
    const error = new KubeletError('unavailable', 'UNAVAILABLE', 'too busy');
    cri.faults.fail('createContainer', error, { match, times: 2 });
    kubelet.writeManifest('between', manifest('between'));
    const pod = await untilRunning(kubelet, 'between');
    const held = cri.calls.filter(({ method, request }) => method === 'runPodSandbox' && match(request));
    expect(held).toHaveLength(1);
    expect(containerStatus(pod).restartCount).toBe(0);
  });

  test('a hung listContainers times out at its deadline, then the kubelet recovers', async () => {
    kubelet.writeManifest('listed', manifest('listed'));
    const before = await untilRunning(kubelet, 'listed');
    const from = kubelet.log.end;
    const one = cri.faults.stall('listContainers', { match: ({ filter }) => filter === undefined });
    stalls.push(one);
    await untilStalled(one);
    // Meanwhile there is no relist, but single pods are inspected and can be started.
    kubelet.writeManifest('unlisted', manifest('unlisted'));
    await untilRunning(kubelet, 'unlisted');
    await kubelet.log.waitForLine(lost, { from, timeoutMs: 40_000 });
    await kubelet.log.waitForLine(back, { from });
    await waitFor(async () => (await kubelet.healthz()).status === 200, '/healthz to be ok');
    expect(containerIdOf(await untilRunning(kubelet, 'listed'))).toBe(containerIdOf(before));
    await killTask(rig, containerIdOf(before));
    await untilRestarted(kubelet, 'listed', 1);
  });
});
