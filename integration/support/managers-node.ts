// A node with the sample device plugin and the static CPU manager, whose kubelet is this one or a Go kubelet; the CRI calls of
// the kubelet are recorded.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCgroup } from '../rig/cgroups.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { DevicePlugin } from './device-plugin.ts';
import { untilNodeDevices } from './device-pods.ts';
import { untilAllocatable } from './pod-resources.ts';
import { StallingCri } from './stalling-cri.ts';

export const nodeName = 'node1';

export interface ManagersSettings {
  /** The Go kubelet; by default this kubelet runs. */
  readonly command: string | undefined;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly pluginFlags?: readonly string[];
}

/**
 * The directories of device plugins and of links to logs are constants of the Go kubelet: in a mount namespace of its own, it sees that
 * of the rig, and an empty one.
 */
const enterNamespace = `#!/bin/sh
set -e
exec unshare --mount --propagation private sh -ec '
program=$1 dir=$2
shift 2
mkdir -p "$dir"
mount -t tmpfs none /var/lib
mount -t tmpfs none /var/log
mkdir -p /var/lib/kubelet/device-plugins
mount --bind "$dir" /var/lib/kubelet/device-plugins
exec "$program" "$@"
' sh`;

const stateFileNames = [
  'cpu_manager_state',
  'memory_manager_state',
  'device-plugins/kubelet_internal_checkpoint',
] as const;

export class ManagersNode {
  readonly rig: Rig;
  readonly cluster: Cluster;
  readonly cri: StallingCri;
  readonly plugin: DevicePlugin;
  kubelet: Kubelet;
  readonly #settings: ManagersSettings;

  constructor(rig: Rig, cluster: Cluster, settings: ManagersSettings) {
    this.rig = rig;
    this.cluster = cluster;
    this.cri = new StallingCri(rig);
    this.#settings = settings;
    this.kubelet = this.#newKubelet(settings.command);
    this.plugin = new DevicePlugin(this.kubelet, { flags: settings.pluginFlags ?? [] });
  }

  #newKubelet(command: string | undefined): Kubelet {
    return this.rig.newKubelet({
      nodeName,
      config: {
        cpuManagerPolicy: 'static',
        reservedSystemCPUs: '0',
        cpuManagerReconcilePeriod: '1s',
        nodeStatusUpdateFrequency: '1s',
        clusterDNS: ['10.96.0.10'],
        clusterDomain: 'cluster.local',
        // The API server double reads no protobuf.
        ...(command === undefined ? {} : { contentType: 'application/json' }),
        ...this.#settings.config,
      },
      flags: [
        `--kubeconfig=${this.cluster.kubeconfig}`,
        `--container-runtime-endpoint=unix://${this.cri.socket}`,
        // The Go kubelet rejects pods for which a plugin may yet have devices.
        ...(command === undefined ? ['--device-plugin-wait=0s'] : []),
      ],
      ...(command === undefined ? {} : { command: this.#inNamespace(command) }),
    });
  }

  #inNamespace(command: string): string {
    const path = join(this.rig.workspace.dir, 'peer-kubelet.sh');
    const dir = join(this.rig.workspace.dir, 'kubelet', 'root', 'device-plugins');
    writeFileSync(path, `${enterNamespace} '${command}' '${dir}' "$@"\n`, { mode: 0o755 });
    return path;
  }

  async start(): Promise<void> {
    makeCgroup(this.rig.workspace.name);
    await this.cri.start();
    await this.kubelet.start();
    await this.cluster.untilNodeReady();
    await this.plugin.start();
    await untilNodeDevices(this.cluster, this.plugin.devices, this.plugin.devices);
  }

  /** Ends the kubelet and starts the next one; waits until it has the devices. Returns the position of its log. */
  async replace(end: 'stop' | 'kill9', command: string | undefined): Promise<number> {
    await this.kubelet[end]();
    this.kubelet = this.#newKubelet(command);
    const from = this.kubelet.log.end;
    await this.kubelet.start();
    await untilAllocatable(this.kubelet, { [this.plugin.resource]: Number(this.plugin.devices) });
    return from;
  }

  /** The files by name, as they are. */
  stateFiles(): Readonly<Record<string, string>> {
    const paths = stateFileNames.map((name) => [name, join(this.kubelet.rootDir, name)] as const);
    return Object.fromEntries(
      paths.filter(([, path]) => existsSync(path)).map(([name, path]) => [name, readFileSync(path, 'utf8')]),
    );
  }

  describe(): string {
    return this.cluster.describeState(this.kubelet);
  }

  async stop(): Promise<void> {
    await this.plugin.stop();
    if (this.kubelet.running) await this.kubelet.stop();
    await this.cri.stop();
    await this.rig.stop();
    await this.cluster.stop();
  }
}

export async function startManagersNode(settings: ManagersSettings): Promise<ManagersNode> {
  const rig = await startRig();
  const node = new ManagersNode(rig, await startCluster(rig, nodeName), settings);
  try {
    await node.start();
    return node;
  } catch (err) {
    const state = node.describe();
    await node.stop();
    throw new Error(state, { cause: err });
  }
}
