// A node's life with the package installed: it runs as a service of systemd, is killed, upgraded and removed under running pods,
// and shuts down gracefully with the real logind. The API server is the double, the container runtime a real containerd.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../../src/api/k8s/types.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { waitFor } from '../rig/wait.ts';
import { type Cluster, isReady, startCluster } from '../support/cluster.ts';
import { container, ignoresTerm, manifest } from '../support/manifest.ts';
import { configureNode, kubeletLog } from './node-files.ts';
import { holdShutdown, inhibitors, property, run, systemctl, vmUnavailableReason } from './systemd.ts';

const { VM_PACKAGE: first = '', VM_NEXT_PACKAGE: next = '' } = process.env;
const why = vmUnavailableReason();
/** Between calls of programs, which are slow under emulation. */
const everyMs = 500;
const podNames = ['steady', 'stubborn', 'critical'] as const;

const logindManager = [
  'org.freedesktop.login1',
  '/org/freedesktop/login1',
  'org.freedesktop.login1.Manager',
] as const;

/** What must not change while the kubelet does: containers, their starts and the Ready transitions. */
function steadyState(cluster: Cluster): unknown {
  const pods = cluster.double.objects.list('pods').map(({ metadata, status }: Pod) => ({
    name: metadata?.name,
    ready: status?.conditions?.find(({ type }) => type === 'Ready'),
    containers: status?.containerStatuses?.map(({ containerID, restartCount, state }) => ({
      containerID,
      restartCount,
      state,
    })),
  }));
  const ready = cluster.node()?.status?.conditions?.find(({ type }) => type === 'Ready');
  return { pods, ready: { status: ready?.status, lastTransitionTime: ready?.lastTransitionTime } };
}

describe.skipIf(why !== undefined)(`kubelet.service${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  let rig: Rig;
  let cluster: Cluster;

  beforeAll(async () => {
    rig = await startRig();
    cluster = await startCluster(rig, 'vm');
  });
  afterAll(async () => {
    await cluster.stop();
    await rig.stop();
  });

  const ready = () => cluster.node()?.status?.conditions?.find(({ type }) => type === 'Ready');
  const untilLocked = async (owner: string): Promise<void> => {
    await waitFor(async () => (await inhibitors()).includes(owner), `the lock of the ${owner}`, { everyMs });
  };
  /** Begins a shutdown, which a lock of the test delays. */
  const beginShutdown = async (): Promise<() => Promise<void>> => {
    const release = holdShutdown();
    await untilLocked('kubelet');
    await untilLocked('test');
    await systemctl('poweroff', '--no-block');
    await waitFor(() => !isReady(cluster.node()?.status), 'the node to be not ready');
    return release;
  };
  const pid = (): Promise<string> => property('kubelet', 'MainPID');
  /** Resolves when the node has reported its status again after the kubelet changed. */
  const untilReported = async (): Promise<void> => {
    const beat = (): string | undefined => ready()?.lastHeartbeatTime;
    const before = beat();
    await waitFor(() => beat() !== before, 'the node status to be reported again', 120_000);
  };

  test('is installed and started as a service', async () => {
    // Without configuration and runtime the kubelet runs alone, which ends the start of the unit.
    await run('dpkg', '-i', first);
    expect(await property('kubelet', 'ActiveState')).toBe('active');
    configureNode({ cluster, rig, shutdownSeconds: { all: 120, critical: 60 } });
    await systemctl('daemon-reload');
    await systemctl('restart', 'kubelet');
    await cluster.untilNodeReady().catch(async (err: unknown) => {
      throw new Error(`the node is not ready:\n${await kubeletLog()}`, { cause: err });
    });
    expect(await property('kubelet', 'UnitFileState')).toBe('enabled');
    expect(await run('kubelet', '--version')).toMatch(/^Kubernetes v1\.37/);
  });

  test('runs pods', async () => {
    cluster.createPod(manifest('steady'));
    cluster.createPod(
      manifest('stubborn', {
        containers: [container('main', ignoresTerm)],
        terminationGracePeriodSeconds: 45,
      }),
    );
    cluster.createPod(
      manifest('critical', { priority: 2_000_000_000, priorityClassName: 'system-cluster-critical' }),
    );
    for (const name of podNames) await cluster.untilReady(name);
  });

  test('is restarted by systemd when it is killed, and changes no pod', async () => {
    const before = steadyState(cluster);
    const killed = await pid();
    await systemctl('kill', '--signal=KILL', 'kubelet');
    const isRestarted = async (): Promise<boolean> => !['0', killed].includes(await pid());
    await waitFor(isRestarted, 'another process', { timeoutMs: 60_000, everyMs });
    await untilReported();
    expect(steadyState(cluster)).toEqual(before);
  });

  test('is upgraded under running pods, and changes no pod', async () => {
    const before = steadyState(cluster);
    const old = await pid();
    await run('dpkg', '-i', next);
    expect(await pid()).not.toBe(old);
    await untilReported();
    expect(steadyState(cluster)).toEqual(before);
  });

  test('is removed and installed again, and the containers run on', async () => {
    const before = steadyState(cluster);
    await run('dpkg', '-r', (await run('dpkg-deb', '-f', next, 'Package')).trim());
    expect(await property('kubelet', 'ActiveState')).not.toBe('active');
    const { containers } = await rig.cri.listContainers({});
    expect(containers).toHaveLength(3);
    await run('dpkg', '-i', next);
    await untilReported();
    expect(steadyState(cluster)).toEqual(before);
  });

  test('leaves the pods of later groups running when the shutdown is cancelled', async () => {
    const release = await beginShutdown();
    const isPreparing = async (): Promise<string> =>
      (await run('busctl', 'get-property', ...logindManager, 'PreparingForShutdown')).trim();
    expect(await isPreparing()).toBe('b true');
    await run('shutdown', '-c');
    expect(await isPreparing()).toBe('b true');
    await systemctl('restart', 'systemd-logind');
    await cluster.untilNodeReady();
    expect(await isPreparing()).toBe('b false');
    await cluster.untilPod('stubborn', 'to be terminated', ({ phase }) => phase === 'Failed');
    await untilReported();
    expect(isReady(cluster.pod('critical')?.status)).toBe(true);
    await untilLocked('kubelet');
    await release();
  });

  test('ends the pods in order when the machine shuts down, and reports before the machine proceeds', async () => {
    cluster.createPod(manifest('next'));
    cluster.createPod(
      manifest('next-stubborn', {
        containers: [container('main', ignoresTerm)],
        terminationGracePeriodSeconds: 20,
      }),
    );
    const names = ['next', 'next-stubborn', 'critical'] as const;
    for (const name of names) await cluster.untilReady(name);
    expect(readFileSync('/etc/systemd/logind.conf.d/99-kubelet.conf', 'utf8')).toBe(
      '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=120\n',
    );
    // Its lock keeps the machine up while the test looks.
    await beginShutdown();
    expect(ready()).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: expect.stringContaining('node is shutting down') as unknown,
    });
    await waitFor(async () => !(await inhibitors()).includes('kubelet'), 'the kubelet to release its lock', {
      timeoutMs: 180_000,
      everyMs,
    });
    for (const name of names)
      expect(cluster.pod(name)?.status).toMatchObject({
        reason: 'Terminated',
        message: 'Pod was terminated in response to imminent node shutdown.',
      });
    const endOf = (name: string): string =>
      cluster.pod(name)?.status?.containerStatuses?.[0]?.state?.terminated?.finishedAt ?? '';
    expect(endOf('next-stubborn') <= endOf('critical')).toBe(true);
  });
});
