// The rig: a private containerd with images, a network and a registry, and the kubelets under test.
// Invariant: it leaves nothing on the machine; the leftovers of a killed rig are removed by the next one.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '../../src/base/clock.ts';
import { type CriClient, criClient } from '../../src/edge/cri/client.ts';
import { Containerd } from './containerd.ts';
import { busyboxImage, pauseImage, rigArchive } from './images.ts';
import { saveKernelValues } from './kernel-values.ts';
import { Kubelet, type KubeletOptions } from './kubelet.ts';
import { clearWorkspace, findLeftovers, findTraces, sweepDeadRigs, type Traces } from './leftovers.ts';
import { mountSmall, type SmallFileSystem } from './mounts.ts';
import { rigUnavailableReason } from './prerequisites.ts';
import { Registry } from './registry.ts';
import { slowness, waitFor } from './wait.ts';
import { claimWorkspace, type RigWorkspace } from './workspace.ts';

export interface RigOptions {
  /** Whether pods can connect to other machines; adds iptables rules for each pod. */
  readonly masquerade?: boolean;
  /** Without the rig's own registry, pulls go to the registries of the image names. */
  readonly registry?: boolean;
  /** The size of a file system of its own for images and writable layers; by default they are on that of the workspace. */
  readonly imageFsBytes?: number;
  /** A file system of its own for the root directories and pod logs of the kubelets. */
  readonly nodeFs?: SmallFileSystem;
  /** A workspace of the caller; by default the rig claims one. */
  readonly workspace?: RigWorkspace;
}

interface RigTimings {
  readonly containerdMs: number;
  readonly importMs: number;
}

export class Rig {
  readonly workspace: RigWorkspace;
  readonly containerd: Containerd;
  readonly cri: CriClient;
  readonly registry: Registry = new Registry();
  readonly images = { pause: pauseImage, busybox: busyboxImage } as const;
  timings: RigTimings = { containerdMs: 0, importMs: 0 };
  readonly #options: RigOptions;
  readonly #kubelets: Kubelet[] = [];
  #traces: Traces = { cgroups: [], sockets: [] };
  #stopped = false;

  constructor(workspace: RigWorkspace, options: RigOptions) {
    this.workspace = workspace;
    this.#options = options;
    this.containerd = new Containerd(workspace, {
      sandboxImage: pauseImage,
      masquerade: options.masquerade ?? false,
      rootBytes: options.imageFsBytes,
    });
    this.cri = criClient({ runtimeEndpoint: this.endpoint, clock: realClock });
  }

  /** In the form of --container-runtime-endpoint. */
  get endpoint(): string {
    return `unix://${this.containerd.paths.socket}`;
  }

  /** The parent cgroup for sandboxes that are created without a kubelet. */
  get cgroupParent(): string {
    return `/${this.workspace.name}`;
  }

  /** The mount point of the option `nodeFs`. */
  get nodeFsDir(): string {
    return join(this.workspace.dir, 'node-fs');
  }

  async start(): Promise<void> {
    saveKernelValues();
    const archive = await rigArchive();
    if (this.#options.nodeFs !== undefined) await mountSmall(this.nodeFsDir, this.#options.nodeFs);
    await this.containerd.prepare();
    const startMs = performance.now();
    await this.containerd.start();
    await waitFor(() => this.#isReady(), 'containerd to be ready', 20_000);
    const readyMs = performance.now();
    await this.ctr('images', 'import', '--snapshotter', this.containerd.snapshotter, archive);
    for (const image of Object.values(this.images)) await this.waitForImage(image);
    this.timings = { containerdMs: readyMs - startMs, importMs: performance.now() - readyMs };
    if (this.#options.registry !== false) await this.#startRegistry();
  }

  async #isReady(): Promise<boolean> {
    const { status } = await this.cri.status({}, { timeoutMs: 2000 * slowness });
    return status?.conditions.every((condition) => condition.status) === true;
  }

  /** The CRI plugin of containerd learns of an imported image by an event, some moments later. */
  async waitForImage(image: string): Promise<void> {
    await waitFor(async () => {
      const { image: found } = await this.cri.imageStatus({ image: { image } });
      return found !== undefined;
    }, `the image ${image}`);
  }

  /** Redirects pulls from all registries to the rig's own: no test connects to another machine. */
  async #startRegistry(): Promise<void> {
    await this.registry.start();
    const { host } = this.registry;
    const url = `http://${host}`;
    // Requests for other registries go to this one, and no further.
    const stand = `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`;
    const own = `server = "${url}"\n`;
    for (const [name, text] of [
      ['_default', stand],
      [host, own],
    ] as const) {
      const dir = join(this.containerd.paths.hosts, name);
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, 'hosts.toml'), text);
    }
  }

  ctr(...args: readonly string[]): Promise<string> {
    return this.containerd.ctr(...args);
  }

  /** Starts a kubelet on this rig. */
  async kubelet(options: KubeletOptions = {}): Promise<Kubelet> {
    const kubelet = this.newKubelet(options);
    await kubelet.start();
    return kubelet;
  }

  /** A kubelet on this rig that is not started yet. */
  newKubelet(options: KubeletOptions = {}): Kubelet {
    const dataDir = this.#options.nodeFs === undefined ? {} : { dataDir: this.nodeFsDir };
    const kubelet = new Kubelet(this.workspace, this.containerd.paths.socket, { ...dataDir, ...options });
    this.#kubelets.push(kubelet);
    return kubelet;
  }

  /** Stops and removes all pods of containerd through the CRI. */
  async removeAllPods(): Promise<void> {
    this.#saveTraces();
    const { items } = await this.cri.listPodSandbox({}, { timeoutMs: 10_000 });
    const remove = async (podSandboxId: string): Promise<void> => {
      await this.cri.stopPodSandbox({ podSandboxId }, { timeoutMs: 20_000 });
      await this.cri.removePodSandbox({ podSandboxId }, { timeoutMs: 20_000 }).catch(async () => {
        // A start that was interrupted at a certain moment leaves a task that containerd never removes.
        const { containers } = await this.cri.listContainers({ filter: { podSandboxId } });
        for (const { id } of containers) await this.removeLostTask(id);
        await this.cri.removePodSandbox({ podSandboxId }, { timeoutMs: 20_000 });
      });
    };
    await Promise.allSettled(items.map((sandbox) => remove(sandbox.id)));
  }

  /** Removes the task of a container that containerd has lost track of, if there is one. */
  async removeLostTask(containerId: string): Promise<void> {
    await this.ctr('tasks', 'rm', '--force', containerId).catch(() => undefined);
  }

  #saveTraces(): void {
    const found = findTraces(this.workspace);
    this.#traces = {
      cgroups: [...new Set([...this.#traces.cgroups, ...found.cgroups])],
      sockets: [...new Set([...this.#traces.sockets, ...found.sockets])],
    };
  }

  /** Stops everything and removes all leftovers. Idempotent. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#saveTraces();
    await Promise.all(this.#kubelets.filter((one) => one.running).map((one) => one.stop('SIGTERM', 5000)));
    if (this.containerd.running) {
      // An unresponsive runtime is cleaned up below.
      await this.removeAllPods().catch(() => undefined);
    }
    this.cri.close();
    await this.registry.stop();
    await this.containerd.stop();
    await clearWorkspace(this.workspace);
  }

  /** What this rig has on the machine; empty after stop(). */
  async leftovers(): Promise<readonly string[]> {
    if (!this.#stopped) this.#saveTraces();
    return findLeftovers(this.workspace, this.#traces);
  }
}

/** Starts a rig. Throws if the machine cannot run one, see rigUnavailableReason(). */
export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const why = rigUnavailableReason();
  if (why !== undefined) throw new Error(why);
  await sweepDeadRigs();
  const rig = new Rig(options.workspace ?? claimWorkspace(), options);
  try {
    await rig.start();
    return rig;
  } catch (err) {
    await rig.stop();
    throw err;
  }
}
