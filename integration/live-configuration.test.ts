// A changed configuration under a running kubelet, and at its start: applied, restarted in place, rejected, fallen back.
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NodeStatus, PodStatus } from '../src/api/k8s/types.ts';
import type { CurrentConfigs, HistoryEntry } from '../src/live-config/config-status.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { startCluster } from './support/cluster.ts';
import { manifest } from './support/manifest.ts';
import { NotifySocket } from './support/notify-socket.ts';
import { containerIdOf, containerStatus, untilRunning } from './support/pod-state.ts';

const clean = { code: 0, signal: null };
const restarting = ['--live-config=Restart', '--live-config-watch-period=4s'];

interface Page {
  readonly current: CurrentConfigs;
  readonly configurations: readonly HistoryEntry[];
}
type Config = Readonly<Record<string, unknown>>;

/** A kubelet with its configuration file. */
class LiveNode {
  readonly kubelet: Kubelet;

  constructor(kubelet: Kubelet | undefined) {
    if (kubelet === undefined) throw new Error('no rig');
    this.kubelet = kubelet;
  }

  config(): Config {
    return JSON.parse(readFileSync(this.kubelet.configPath, 'utf8')) as Config;
  }

  /** Replaces the file as editors and configuration management do. */
  write(text: string): void {
    const fresh = `${this.kubelet.configPath}.fresh`;
    writeFileSync(fresh, text);
    renameSync(fresh, this.kubelet.configPath);
  }

  change(changes: Config): void {
    this.write(JSON.stringify({ ...this.config(), ...changes }));
  }

  async page(): Promise<Page> {
    return JSON.parse((await this.kubelet.secure('/configz/history')).text) as Page;
  }

  /** A kubelet that restarts in place does not answer for a moment. */
  async until(what: string, is: (page: Page) => boolean): Promise<Page> {
    const look = async (): Promise<Page | undefined> => {
      const page = await this.page().catch(() => undefined);
      return page !== undefined && is(page) ? page : undefined;
    };
    return await waitFor(look, what, 30_000);
  }

  /** The newest configuration has this outcome and changed this field. */
  async untilNewest(outcome: HistoryEntry['outcome'], path?: string, reason = /^/): Promise<Page> {
    return await this.until(
      `${path ?? 'a configuration'} to be ${outcome}`,
      ({ configurations: [newest] }) => {
        const changed = path === undefined || newest?.changes.some((each) => each.path === path) === true;
        const because = reason.test(newest?.reasons.join('\n') ?? '');
        return newest?.outcome === outcome && changed && because;
      },
    );
  }

  /** The newest configuration changed this field and failed, and the last known good one is in force again. */
  async untilBack(path: string): Promise<Page> {
    await this.untilNewest('fell-back', path);
    return await this.until('the last known good configuration to be active', ({ current }) => {
      return current.active === current.lastKnownGood;
    });
  }

  async inForce(): Promise<Config> {
    const { text } = await this.kubelet.secure('/configz');
    return (JSON.parse(text) as { readonly kubeletconfig: Config }).kubeletconfig;
  }

  async metric(name: string): Promise<readonly string[]> {
    const { text } = await this.kubelet.secure('/metrics');
    return text.split('\n').filter((line) => line.startsWith(name));
  }

  async containers(pods: readonly string[]): Promise<readonly string[]> {
    const found = await Promise.all(pods.map((name) => untilRunning(this.kubelet, name)));
    return found.map((pod) => `${containerIdOf(pod)} ${containerStatus(pod).restartCount}`);
  }

  /** File descriptors and threads of the process. */
  resources(): readonly number[] {
    const count = (path: string): number => readdirSync(`/proc/${this.kubelet.pid}/${path}`).length;
    return [count('fd'), count('task')];
  }

  async untilHealthy(): Promise<void> {
    const answer = async (): Promise<boolean> =>
      (await this.kubelet.healthz().catch(() => undefined))?.text === 'ok';
    await waitFor(answer, 'the kubelet to be healthy', 20_000);
  }
}

describeOnRig('live configuration', () => {
  // Two kubelets on one runtime would remove each other's pods.
  const rigs: Rig[] = [];

  beforeAll(async () => {
    for (let count = 0; count < 2; count++) rigs.push(await startRig({ registry: false }));
  });
  afterAll(async () => {
    await Promise.all(rigs.map((rig) => rig.stop()));
  });

  const launch = async (
    rig: Rig | undefined,
    flags: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<LiveNode> => {
    const node = new LiveNode(rig?.newKubelet({ nodeName: 'node', settingsInFile: true, flags, env }));
    await node.kubelet.start();
    return node;
  };

  test.concurrent('Apply: changes without a restart, pending ones, an invalid file, a file without rest, SIGHUP; nothing without the flag', async () => {
    const node = await launch(rigs[0], ['--live-config=Apply', '--live-config-watch-period=2s']);
    const { kubelet } = node;
    await node.untilNewest('good');
    const saved = join(kubelet.rootDir, 'live-config', 'last-known-good.json');
    expect(statSync(saved).mode & 0o777).toBe(0o600);

    // Some changes are in force at once, others wait.
    const { pid } = kubelet;
    node.change({ logging: { verbosity: 4 }, clusterDNS: ['10.0.0.99'], healthzPort: 1 });
    const { current, configurations } = await node.untilNewest('pending-restart');
    expect(current.pendingRestart).toEqual(['healthzPort']);
    expect(configurations[0]?.changes).toContainEqual({
      path: 'logging.verbosity',
      applies: 'now',
      old: '2',
      new: '4',
    });
    expect(await node.inForce()).toMatchObject({
      logging: { verbosity: 4 },
      clusterDNS: ['10.0.0.99'],
      healthzPort: kubelet.healthzPort,
    });
    kubelet.writeManifest('later', manifest('later'));
    const later = containerIdOf(await untilRunning(kubelet, 'later'));
    expect(await outputOf(rigs[0], later, 'cat', '/etc/resolv.conf')).toContain('nameserver 10.0.0.99');

    // An invalid file changes nothing, and is reported once.
    node.change({ healthzPort: kubelet.healthzPort, maxPods: -5, evictionHard: { 'no.such': '1' } });
    const rejected = await node.untilNewest('rejected');
    expect(rejected.configurations[0]?.reasons.join('\n')).toMatch(/maxPods[\s\S]*no\.such/);
    expect(await node.metric('kubelet_node_config_error')).toEqual(['kubelet_node_config_error 1']);

    // Nor does one that the next start would refuse.
    node.change({ maxPods: 110, evictionHard: { 'memory.available': '4Ti' } });
    const impossible = await node.untilNewest('rejected', undefined, /Expected capacity >= reservation/);
    expect(impossible.current.active).toBe(current.active);

    // Replaced a hundred times a second.
    const valid = { ...node.config(), maxPods: 50, evictionHard: { 'memory.available': '100Mi' } };
    const loads = async (): Promise<number> =>
      (await node.metric('kubelet_node_config_loads_total'))
        .map((line) => Number(line.split(' ')[1]))
        .reduce((sum, each) => sum + each, 0);
    const before = await loads();
    const beganMs = performance.now();
    for (let round = 1; round <= 200; round++) {
      node.write(JSON.stringify({ ...valid, maxPods: 100 + round }));
      await sleep(10);
    }
    const seconds = (performance.now() - beganMs) / 1_000;
    await waitFor(async () => (await node.inForce())['maxPods'] === 300, 'the last content to be in force');
    expect((await loads()) - before).toBeLessThanOrEqual(Math.ceil(seconds) + 4);
    expect(await node.metric('kubelet_node_config_error')).toEqual(['kubelet_node_config_error 0']);

    // SIGHUP reads the files and ends nothing.
    const from = kubelet.log.end;
    process.kill(kubelet.pid ?? 0, 'SIGHUP');
    await kubelet.log.waitForLine(/Received SIGHUP/, { from });
    expect(kubelet.pid).toBe(pid);
    expect(kubelet.log.matching(/Rejected the configuration files/)).toHaveLength(2);
    expect(kubelet.log.matching(/Restarting the kubelet in place/)).toEqual([]);
    expect(await kubelet.stop()).toEqual(clean);

    // Without the flag there is nothing of it, and SIGHUP ends the process.
    const plain = new LiveNode(
      rigs[0]?.newKubelet({ name: 'plain', nodeName: 'node', settingsInFile: true }),
    );
    await plain.kubelet.start();
    plain.change({ maxPods: 7 });
    expect((await plain.kubelet.secure('/configz/history')).status).toBe(404);
    expect(await plain.metric('kubelet_node_config')).toEqual([]);
    expect(await plain.inForce()).toMatchObject({ maxPods: 110 });
    expect(await plain.kubelet.stop('SIGHUP')).toEqual({ code: null, signal: 'SIGHUP' });
    expect(existsSync(join(plain.kubelet.rootDir, 'live-config'))).toBe(false);
    expect(plain.kubelet.log.matching(/live-config/)).toEqual([]);
  });

  test.concurrent('Restart: in place without effect on pods and node; deadly changes, a crash and half a file fall back', async ({
    onTestFinished,
  }) => {
    const [, rig] = rigs;
    if (rig === undefined) throw new Error('no rig');
    const cluster = await startCluster(rig, 'node');
    onTestFinished(() => cluster.stop());
    const systemd = await NotifySocket.open(join(rig.workspace.dir, 'notify'));
    onTestFinished(() => systemd.close());
    const node = await launch(rig, [...restarting, `--kubeconfig=${cluster.kubeconfig}`], {
      NOTIFY_SOCKET: systemd.path,
      WATCHDOG_USEC: '4000000',
    });
    const { kubelet } = node;
    kubelet.writeManifest('steady', manifest('steady'));
    await untilRunning(kubelet, 'steady');
    await node.untilNewest('good');
    await cluster.untilNodeReady();
    await cluster.untilReady('steady-node');
    const ofPod = async () => ({
      pod: readyCondition(cluster.pod('steady-node')?.status),
      containers: await node.containers(['steady']),
    });
    const visible = async () => ({
      ...(await ofPod()),
      node: readyCondition(cluster.node()?.status),
      pid: kubelet.pid,
    });
    const before = await visible();
    const podBefore = await ofPod();

    const used: (readonly number[])[] = [];
    for (const maxOpenFiles of [900_001, 900_002, 900_003, 900_004]) {
      node.change({ maxOpenFiles });
      await node.until(
        `maxOpenFiles ${maxOpenFiles} to be in force`,
        ({ configurations: [newest], current }) => {
          const change = newest?.changes.find(({ path }) => path === 'maxOpenFiles');
          return change?.new === String(maxOpenFiles) && newest?.checksum === current.active;
        },
      );
      await systemd.untilState('READY=1', used.length + 2);
      await node.untilHealthy();
      used.push(node.resources());
    }
    expect(kubelet.log.matching(/Restarting the kubelet in place/)).toHaveLength(4);
    expect(await visible()).toEqual(before);
    // Connections come and go; a leak grows with every restart.
    const [first = []] = used;
    await waitFor(
      () => node.resources().every((count, index) => count <= (first[index] ?? 0) + 2),
      `at most ${first.join(', ')} descriptors and threads after four restarts, at first ${JSON.stringify(used)}`,
    );
    const states = systemd.states().map((state) => state.split('\n')[0]);
    expect(states.filter((state) => state !== 'WATCHDOG=1')).toEqual([
      'READY=1',
      ...[1, 2, 3, 4].flatMap(() => ['RELOADING=1', 'READY=1']),
    ]);

    // The runtime's socket does not exist.
    const endpoint = node.config()['containerRuntimeEndpoint'];
    node.change({ containerRuntimeEndpoint: 'unix:///run/no-such-runtime.sock' });
    const back = await node.untilBack('containerRuntimeEndpoint');
    expect(back.current).toMatchObject({
      assigned: back.configurations[0]?.checksum,
      error: expect.stringMatching(/no-such-runtime|did not start/),
    });
    await node.untilHealthy();
    expect(kubelet.pid).toBe(before.pid);
    expect(await ofPod()).toEqual(podBefore);
    // A kubelet without a runtime may have reported that the node is not ready.
    await cluster.untilNodeReady();
    // Longer than systemd allows without a sign of life.
    expect(systemd.states().filter((state) => state === 'WATCHDOG=1').length).toBeGreaterThan(3);
    const reasons = (): readonly (string | undefined)[] =>
      cluster.double.objects.list('events').map(({ reason }) => reason);
    await waitFor(() => reasons().includes('KubeletConfigFellBack'), 'the event');
    expect(reasons()).toContain('KubeletConfigChanged');
    expect(await kubelet.stop()).toEqual(clean);

    // Nor does that of the image service, without which the kubelet seems healthy.
    await kubelet.start({ keepConfig: true });
    node.change({
      containerRuntimeEndpoint: endpoint,
      imageServiceEndpoint: 'unix:///run/no-such-images.sock',
    });
    const noImages = await node.untilBack('imageServiceEndpoint');
    expect(noImages.configurations[0]?.reasons[0]).toContain('the image service is unavailable');
    expect(await kubelet.stop()).toEqual(clean);

    // Impossible at the start of the process: more is reserved than there is.
    node.change({ imageServiceEndpoint: '', kubeReserved: { memory: '4Ti' } });
    await kubelet.start({ keepConfig: true });
    const impossible = await node.untilBack('kubeReserved');
    expect(impossible.configurations[0]?.reasons[0]).toContain('Expected capacity >= reservation');

    // Killed while a configuration is on trial: it is not tried again.
    const { kubeReserved: _, ...possible } = node.config();
    node.write(JSON.stringify({ ...possible, clusterDNS: ['10.0.0.98'] }));
    await node.untilNewest('on-trial', 'clusterDNS');
    await kubelet.kill9();
    await kubelet.start({ keepConfig: true });
    const crashed = await node.untilNewest('fell-back', 'clusterDNS');
    expect(crashed.configurations[0]?.reasons[0]).toContain('crashed');
    expect(await kubelet.stop()).toEqual(clean);

    // Half-written at the start of the process.
    node.write(JSON.stringify(possible).slice(0, 200));
    const from = kubelet.log.end;
    await kubelet.start({ keepConfig: true });
    await node.untilNewest('rejected');
    expect(kubelet.log.matching(/^E.*Using the last known good configuration/, from)).toHaveLength(1);
    expect(await ofPod()).toEqual(podBefore);
    expect(await kubelet.stop()).toEqual(clean);
  });
});

async function outputOf(rig: Rig | undefined, containerId: string, ...cmd: string[]): Promise<string> {
  const result = await rig?.cri.execSync({ containerId, cmd, timeout: 10n });
  return Buffer.from(result?.stdout ?? []).toString();
}

function readyCondition(status: NodeStatus | PodStatus | undefined): unknown {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return { status: ready?.status, since: ready?.lastTransitionTime };
}
