// The shutdown of the machine: a real D-Bus daemon, the real systemd-inhibit, and a process in the place of logind, since the
// machine's own must not be touched. The pods run on a real containerd.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import { realClock } from '../src/base/clock.ts';
import { logind } from '../src/edge/systemd/logind.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { rigUnavailableReason } from './rig/prerequisites.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, isReady, startCluster } from './support/cluster.ts';
import { DbusDaemon } from './support/dbus-daemon.ts';
import { LogindProcess, logindUnavailableReason } from './support/fake-logind.ts';
import { container, ignoresTerm, manifest } from './support/manifest.ts';

const why = rigUnavailableReason() ?? logindUnavailableReason();
const nodeName = 'node1';
const lockLine = 'lock shutdown delay kubelet: Kubelet needs time to handle node shutdown';
const message = 'Pod was terminated in response to imminent node shutdown.';
const critical = 2_000_000_000;
/** Most tests leave the limit alone, since raising it writes to the machine's /etc. */
const highLimit = '[Login]\nInhibitDelayMaxSec=60\n';

function childOf(parent: number | undefined, name: string): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ');
  const child = children.find(
    (pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === name.slice(0, 15),
  );
  return Number(child);
}

describe.skipIf(why !== undefined)(
  `graceful shutdown of the node${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const dir = mkdtempSync(join(tmpdir(), 'logind-'));
    const configFile = join(dir, 'logind.conf.d', '99-kubelet.conf');
    const bus = new DbusDaemon();
    const machine = new LogindProcess(bus.address, configFile);
    const env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: bus.address };
    let rig: Rig;
    let cluster: Cluster;
    let kubelet: Kubelet;

    beforeAll(async () => {
      await bus.start();
      await machine.start();
      rig = await startRig();
      cluster = await startCluster(rig, nodeName);
      kubelet = rig.newKubelet({
        nodeName,
        config: {
          shutdownGracePeriod: '7s',
          shutdownGracePeriodCriticalPods: '4s',
          ...cluster.kubeletConfig,
        },
        flags: [`--kubeconfig=${cluster.kubeconfig}`],
        env: { DBUS_SYSTEM_BUS_ADDRESS: bus.address },
        client: { cert: cluster.admin.cert, key: cluster.admin.key },
      });
    });
    afterAll(async () => {
      await rig.stop();
      await cluster.stop();
      await machine.stop();
      await bus.close();
      rmSync(dir, { recursive: true });
    });

    const run = async (name: string, over: Parameters<typeof manifest>[1]): Promise<Pod> => {
      cluster.createPod(manifest(name, over));
      return cluster.untilReady(name);
    };
    const inhibitors = async (): Promise<string> =>
      (await promisify(execFile)('systemd-inhibit', ['--list'], { env })).stdout;
    const finishedAtMs = (name: string): number =>
      Date.parse(cluster.pod(name)?.status?.containerStatuses?.[0]?.state?.terminated?.finishedAt ?? '');
    const nodeMessage = (): string | undefined =>
      cluster.node()?.status?.conditions?.find(({ type }) => type === 'Ready')?.message;

    test('the limit of logind is raised by its configuration, and a lock is held and released', async () => {
      const prepared: boolean[] = [];
      const edge = logind({ clock: realClock, busAddress: bus.address, configFile });
      const session = await edge.connect((active) => void prepared.push(active));
      expect([await session.delayLimitMs(), await session.isPreparing()]).toEqual([5_000, false]);
      await session.raiseDelayLimit(60);
      expect(await session.delayLimitMs()).toBe(60_000);
      expect(readFileSync(configFile, 'utf8')).toContain(highLimit);
      expect(statSync(configFile).mode & 0o777).toBe(0o644);
      expect(machine.events).toEqual(['kill systemd-logind.service all 1', 'reloaded 60000000']);
      const lock = await session.takeLock(new AbortController().signal);
      expect(machine.events.at(-1)).toBe(lockLine);
      await lock.release();
      await machine.until('released');
      machine.prepare(true);
      await waitFor(() => prepared.length === 1, 'the signal');
      await expect(session.takeLock(new AbortController().signal)).rejects.toThrow(
        'The operation is already running',
      );
      machine.prepare(false);
      await waitFor(() => prepared.length === 2, 'the signal');
      session.close();
      await session.ended;
      machine.events.length = 0;
    });

    test('a kubelet holds the lock as long as it lives, also after a restart of logind and of D-Bus', async () => {
      await kubelet.start();
      await machine.until(lockLine);
      expect(await inhibitors()).toMatch(/^kubelet .* shutdown .* delay/m);
      await machine.stop();
      await machine.start();
      await machine.until(lockLine, 2);
      await machine.stop();
      await bus.stop();
      await bus.start();
      await machine.start();
      await machine.until(lockLine, 3);
      expect(machine.count('released')).toBe(0);
      await kubelet.kill9();
      await machine.until('released');
      await kubelet.start();
      await machine.until(lockLine, 4);
      await cluster.untilNodeReady();
    });

    test('a lock whose process is killed is taken again when logind grants one, and pods run meanwhile', async () => {
      const [taken, released] = [machine.count(lockLine), machine.count('released')];
      machine.refuse(true);
      process.kill(childOf(kubelet.pid, 'systemd-inhibit'), 'SIGKILL');
      await machine.until('released', released + 1);
      await machine.until('refused');
      await run('zeroth', {});
      expect(machine.count(lockLine)).toBe(taken);
      machine.refuse(false);
      await machine.until(lockLine, taken + 1);
    });

    test('a cancelled shutdown leaves the pods of later groups running', async () => {
      await Promise.all([
        run('first', { containers: [container('main', ignoresTerm)], terminationGracePeriodSeconds: 2 }),
        run('second', { priority: critical }),
      ]);
      machine.prepare(true);
      await waitFor(() => nodeMessage() === 'node is shutting down', 'the node to be not ready');
      machine.prepare(false);
      await cluster.untilNodeReady();
      await cluster.untilPod('first', 'to be terminated', ({ phase }) => phase === 'Failed');
      await run('third', {});
      expect(isReady(cluster.pod('second')?.status)).toBe(true);
    });

    test('pods end in their order, and their statuses are reported before the lock is released', async () => {
      await run('stubborn', {
        containers: [container('main', ignoresTerm)],
        terminationGracePeriodSeconds: 300,
      });
      const atRelease: (string | undefined)[] = [];
      const locks = machine.count('released');
      machine.onEvent = (event) => {
        if (event !== 'released') return;
        const names = ['stubborn', 'third', 'second'];
        atRelease.push(...names.map((name) => cluster.pod(name)?.status?.reason), nodeMessage());
      };
      machine.prepare(true);
      await waitFor(() => nodeMessage() === 'node is shutting down', 'the node to be not ready');
      cluster.createPod(manifest('late'));
      const late = await cluster.untilPod('late', 'to be rejected', ({ phase }) => phase === 'Failed');
      expect(late.status?.reason).toBe('NodeShutdown');
      await machine.until('released', locks + 1);
      expect(atRelease).toEqual(['Terminated', 'Terminated', 'Terminated', 'node is shutting down']);
      expect(cluster.pod('stubborn')?.status).toMatchObject({ phase: 'Failed', message });
      const state = JSON.parse(
        readFileSync(join(kubelet.rootDir, 'graceful_node_shutdown_state'), 'utf8'),
      ) as {
        readonly startTime: string;
        readonly endTime: string;
      };
      const startMs = Date.parse(state.startTime);
      expect(Date.parse(state.endTime)).toBeGreaterThan(startMs);
      // The critical pod runs while the others have their time. The API server has whole seconds.
      expect(finishedAtMs('second') - startMs).toBeGreaterThan(3_000 - 1_000);
      expect(finishedAtMs('third')).toBeLessThan(finishedAtMs('second'));
    });

    test('a kubelet that starts while the machine shuts down admits no pod', async () => {
      await kubelet.kill9();
      await kubelet.start();
      cluster.createPod(manifest('later'));
      const later = await cluster.untilPod('later', 'to be rejected', ({ phase }) => phase === 'Failed');
      expect(later.status?.reason).toBe('NodeShutdown');
    });
  },
);
