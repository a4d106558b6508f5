// The rig: a private containerd with images, a network and a registry, and the kubelets that are driven against it.
// Afterwards nothing of it is left on the machine, however it ended: what a killed rig leaves, the next one clears.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '../../src/base/clock.ts';
import { type CriClient, criClient } from '../../src/edge/cri/client.ts';
import { Containerd } from './containerd.ts';
import { busyboxImage, pauseImage, rigArchive } from './images.ts';
import { rememberKernelValues } from './kernel-values.ts';
import { Kubelet, type KubeletOptions } from './kubelet.ts';
import { clearWorkspace, findLeftovers, findTraces, sweepDeadRigs, type Traces } from './leftovers.ts';
import { rigUnavailableReason } from './prerequisites.ts';
import { Registry } from './registry.ts';
import { slowness, waitFor } from './wait.ts';
import { claimWorkspace, type RigWorkspace } from './workspace.ts';

interface RigOptions {
  /** Whether pods can reach beyond the machine; it costs packet filter rules for each pod. */
  readonly masquerade?: boolean;
  /** Without the rig's own registry, pulls go to the registries that images name. */
  readonly registry?: boolean;
  /** A ground the caller holds; one of its own by default. */
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
    });
    this.cri = criClient({ runtimeEndpoint: this.endpoint, clock: realClock });
  }

  /** As --container-runtime-endpoint takes it. */
  get endpoint(): string {
    return `unix://${this.containerd.paths.socket}`;
  }

  /** A cgroup of the rig's own, for sandboxes that are made without a kubelet. */
  get cgroupParent(): string {
    return `/${this.workspace.name}`;
  }

  async start(): Promise<void> {
    rememberKernelValues();
    const archive = await rigArchive();
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

  /** The CRI part of containerd learns of an imported image by an event, a little later. */
  async waitForImage(image: string): Promise<void> {
    await waitFor(async () => {
      const { image: found } = await this.cri.imageStatus({ image: { image } });
      return found !== undefined;
    }, `the image ${image}`);
  }

  /** All pulls, whatever the name of the registry, go to the rig's own: no test reaches beyond the machine. */
  async #startRegistry(): Promise<void> {
    await this.registry.start();
    const { host } = this.registry;
    const url = `http://${host}`;
    // Whatever is asked of another registry goes to this one, and from there nowhere.
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

  /** A kubelet on this rig, running. */
  async kubelet(options: KubeletOptions = {}): Promise<Kubelet> {
    const kubelet = this.newKubelet(options);
    await kubelet.start();
    return kubelet;
  }

  /** A kubelet on this rig that is yet to be started. */
  newKubelet(options: KubeletOptions = {}): Kubelet {
    const kubelet = new Kubelet(this.workspace, this.containerd.paths.socket, options);
    this.#kubelets.push(kubelet);
    return kubelet;
  }

  /** Stops and removes every pod that containerd knows, as a runtime is asked to. */
  async removeAllPods(): Promise<void> {
    this.#remember();
    const { items } = await this.cri.listPodSandbox({}, { timeoutMs: 10_000 });
    const remove = async (podSandboxId: string): Promise<void> => {
      await this.cri.stopPodSandbox({ podSandboxId }, { timeoutMs: 20_000 });
      await this.cri.removePodSandbox({ podSandboxId }, { timeoutMs: 20_000 }).catch(async () => {
        // A start that was cut off at the wrong moment leaves a task that containerd itself never removes.
        const { containers } = await this.cri.listContainers({ filter: { podSandboxId } });
        for (const { id } of containers) await this.removeLostTask(id);
        await this.cri.removePodSandbox({ podSandboxId }, { timeoutMs: 20_000 });
      });
    };
    await Promise.allSettled(items.map((sandbox) => remove(sandbox.id)));
  }

  /** Takes away what containerd has made for a container and lost sight of; no such task is fine. */
  async removeLostTask(containerId: string): Promise<void> {
    await this.ctr('tasks', 'rm', '--force', containerId).catch(() => undefined);
  }

  #remember(): void {
    const found = findTraces(this.workspace);
    this.#traces = {
      cgroups: [...new Set([...this.#traces.cgroups, ...found.cgroups])],
      sockets: [...new Set([...this.#traces.sockets, ...found.sockets])],
    };
  }

  /** Ends everything and removes every trace. May be called twice. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#remember();
    await Promise.all(this.#kubelets.filter((one) => one.running).map((one) => one.stop('SIGTERM', 5000)));
    if (this.containerd.running) {
      // A runtime that no longer answers is cleared away below all the same.
      await this.removeAllPods().catch(() => undefined);
    }
    this.cri.close();
    await this.registry.stop();
    await this.containerd.stop();
    await clearWorkspace(this.workspace);
  }

  /** What is on the machine because of this rig; nothing after stop(). */
  async leftovers(): Promise<readonly string[]> {
    if (!this.#stopped) this.#remember();
    return findLeftovers(this.workspace, this.#traces);
  }
}

/** A running rig. Throws when the machine cannot run one; ask rigUnavailableReason() first. */
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
