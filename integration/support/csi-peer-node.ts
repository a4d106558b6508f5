// A node with CSI drivers whose kubelet is this one or a Go kubelet, and changes between both.
// Invariant: a Go kubelet writes below the rig's workspace only; volumes that it mounts are mounted on the host as well.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCgroup } from '../rig/cgroups.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { mustRun } from '../rig/process.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { waitFor } from '../rig/wait.ts';
import { AttachController } from './attach-controller.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { CsiNode } from './csi-node.ts';

export const nodeName = 'node1';
export const drivers = {
  main: 'test.csi.example.com',
  informed: 'informed.example.com',
  grouping: 'grouping.example.com',
  attached: 'attached.example.com',
  migrated: 'ebs.csi.aws.com',
} as const;

/**
 * The directories of device plugins and of links to logs are constants of the Go kubelet: it gets empty ones, in a mount namespace of
 * its own. The root directory is a shared mount, so that mounts below it are the same inside and outside.
 */
const enterNamespace = `#!/bin/sh
exec setpriv --pdeathsig KILL unshare --mount --propagation unchanged sh -ec '
for dir in /var/lib /var/log; do
  mount --make-private "$(stat -c %m "$dir")"
  mount -t tmpfs none "$dir"
done
exec "$@"
' sh`;

export class CsiPeerNode {
  readonly rig: Rig;
  readonly cluster: Cluster;
  readonly csi: CsiNode;
  readonly controller: AttachController;
  kubelet: Kubelet;

  constructor(rig: Rig, cluster: Cluster, command: string | undefined) {
    this.rig = rig;
    this.cluster = cluster;
    this.kubelet = this.#newKubelet(command);
    this.csi = new CsiNode({ rig, cluster, kubelet: this.kubelet });
    this.controller = new AttachController(cluster, {
      attachMs: 100,
      metadata: { device: 'sdx' },
      mounted: () => this.csi.drivers.find(({ name }) => name === drivers.attached)?.inUse() ?? new Set(),
    });
  }

  #newKubelet(command: string | undefined): Kubelet {
    const isPeer = command !== undefined;
    return this.rig.newKubelet({
      nodeName,
      config: {
        nodeStatusUpdateFrequency: '2s',
        syncFrequency: '4s',
        volumeStatsAggPeriod: '2s',
        clusterDNS: ['10.96.0.10'],
        clusterDomain: 'cluster.local',
        // The API server double reads no protobuf.
        ...(isPeer ? { contentType: 'application/json' } : {}),
      },
      flags: [`--kubeconfig=${this.cluster.kubeconfig}`],
      ...(isPeer ? { command: this.#inNamespace(command) } : {}),
    });
  }

  #inNamespace(command: string): string {
    const path = join(this.rig.workspace.dir, 'peer-kubelet.sh');
    writeFileSync(path, `${enterNamespace} '${command}' "$@"\n`, { mode: 0o755 });
    return path;
  }

  async start(): Promise<void> {
    makeCgroup(this.rig.workspace.name);
    const { rootDir } = this.kubelet;
    mkdirSync(rootDir, { recursive: true });
    await mustRun('mount', ['--bind', rootDir, rootDir]);
    await mustRun('mount', ['--make-rshared', rootDir]);
    await this.kubelet.start();
    await this.cluster.untilNodeReady();
    await this.#startDrivers();
    this.controller.start();
  }

  async #startDrivers(): Promise<void> {
    const tokenRequests = [{ audience: '' }, { audience: 'vault', expirationSeconds: 1200 }];
    await this.csi.driver({
      name: drivers.main,
      maxVolumes: 7,
      topology: { 'topology.example.com/zone': 'a', 'topology.example.com/rack': 'b' },
    });
    await this.csi.driver(
      { name: drivers.informed, capabilities: ['stats'] },
      {
        fsGroupPolicy: 'File',
        podInfoOnMount: true,
        requiresRepublish: true,
        tokenRequests,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    );
    await this.csi.driver(
      { name: drivers.grouping, capabilities: ['stage', 'volume-mount-group', 'single-node-multi-writer'] },
      { fsGroupPolicy: 'File', tokenRequests, serviceAccountTokenInSecrets: true },
    );
    await this.csi.driver({ name: drivers.attached }, { attachRequired: true });
    await this.csi.driver({ name: drivers.migrated });
  }

  /** Ends the kubelet and starts the next one (this kubelet if `command` is undefined); waits until it has registered the drivers. */
  async replace(end: 'stop' | 'kill9', command: string | undefined): Promise<void> {
    await this.kubelet[end]();
    const count = this.csi.drivers.map((driver) => driver.calls('NotifyRegistrationStatus').length);
    this.kubelet = this.#newKubelet(command);
    await this.kubelet.start();
    for (const [at, driver] of this.csi.drivers.entries())
      if (driver.running) await driver.untilCalls('NotifyRegistrationStatus', (count[at] ?? 0) + 1);
    // A pod is listed with the status of this kubelet once it was synced.
    await waitFor(
      async () => (await this.kubelet.pods()).length === this.csi.objects.list('pods').length,
      'the pods to be listed',
    );
  }

  /** Deletes pods and waits until their directories are gone; a Go kubelet removes sandboxes and logs a minute later. */
  async end(...names: readonly string[]): Promise<void> {
    const uids = names.map((name) => this.cluster.pod(name)?.metadata?.uid ?? '');
    for (const name of names) this.csi.objects.delete('pods', 'default', name);
    for (const name of names) await this.cluster.untilGone(name);
    await waitFor(
      () => uids.every((uid) => !existsSync(join(this.kubelet.rootDir, 'pods', uid))),
      `the directories of ${names.join(', ')} to be removed`,
      60_000,
    );
  }

  /** As `driver handle: path`, the volumes that are staged or published. */
  volumesInUse(): readonly string[] {
    return this.csi.drivers.flatMap((driver) =>
      driver
        .volumes()
        .flatMap(({ handle, published, staged }) =>
          [...Object.keys(staged), ...Object.keys(published)].map(
            (path) => `${driver.name} ${handle}: ${path}`,
          ),
        ),
    );
  }

  describe(): string {
    return this.cluster.describeState(this.kubelet);
  }

  async stop(): Promise<void> {
    this.controller.stop();
    if (this.kubelet.running) await this.kubelet.stop();
    for (const driver of this.csi.drivers) await driver.clear();
    await this.rig.stop();
    await this.cluster.stop();
  }
}

export async function startCsiPeerNode(command: string | undefined): Promise<CsiPeerNode> {
  const rig = await startRig();
  const node = new CsiPeerNode(rig, await startCluster(rig, nodeName), command);
  try {
    await node.start();
    return node;
  } catch (err) {
    const state = node.describe();
    await node.stop();
    throw new Error(state, { cause: err });
  }
}
