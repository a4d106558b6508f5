// A node in a cluster with CSI drivers beside its kubelet, for all tests of a suite: call in the body of `describeOnCsiNode`, which
// the hooks belong to. Has the pods, claims and drivers of the tests; csi-files.ts has what is on disk of their volumes.
// Invariant: at the end of the suite no driver has seen a violation, and no mount, device or directory of a volume is left.
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../src/api/k8s/types.ts';
import type { Kubelet, KubeletOptions } from '../rig/kubelet.ts';
import { describeOnRig } from '../rig/on-rig.ts';
import type { Rig } from '../rig/rig.ts';
import { slowness, waitFor } from '../rig/wait.ts';
import type { Cluster } from './cluster.ts';
import { CsiDriver, csiUnavailableReason, type DriverSettings } from './csi-driver.ts';
import { CsiFiles } from './csi-files.ts';
import { type CsiClaim, claimVolume, csiClaim, csiDriverObject } from './csi-objects.ts';
import { container, exitsOnTerm, type ManifestOver, manifest } from './manifest.ts';
import { untilNoTraces } from './pod-traces.ts';
import { useClusterNode } from './suite-node.ts';

const waitMs = 60_000;

/** As `describeOnRig`, for a machine that can also run the CSI driver. */
export function describeOnCsiNode(name: string, body: () => void): void {
  const why = csiUnavailableReason();
  if (why === undefined) describeOnRig(name, body);
  else describe.skip(`${name} (skipped: ${why})`, body);
}

interface CsiNodeParts {
  readonly rig: Rig;
  readonly cluster: Cluster;
  readonly kubelet: Kubelet;
}

export class CsiNode extends CsiFiles {
  readonly rig: Rig;
  readonly cluster: Cluster;
  readonly kubelet: Kubelet;
  readonly #drivers: CsiDriver[] = [];

  constructor({ cluster, kubelet, rig }: CsiNodeParts) {
    super(kubelet.rootDir);
    this.rig = rig;
    this.cluster = cluster;
    this.kubelet = kubelet;
  }

  get objects(): Cluster['double']['objects'] {
    return this.cluster.double.objects;
  }

  get drivers(): readonly CsiDriver[] {
    return this.#drivers;
  }

  /** A driver of this node that is not started. Cleared at the end of the suite. */
  newDriver(settings: DriverSettings = {}): CsiDriver {
    const driver = new CsiDriver(
      { dir: this.rig.workspace.dir, rootDir: this.kubelet.rootDir },
      { nodeId: this.cluster.nodeName, ...settings },
    );
    this.#drivers.push(driver);
    return driver;
  }

  /** Starts a driver with its CSIDriver object, which needs no attachment unless `spec` differs, and waits until it is registered. */
  async driver(
    settings: DriverSettings = {},
    spec: Parameters<typeof csiDriverObject>[1] = {},
  ): Promise<CsiDriver> {
    const driver = this.newDriver(settings);
    csiDriverObject(this.cluster, spec, driver.name);
    await driver.start();
    await driver.waitRegistered();
    return driver;
  }

  /** Creates a claim and the persistent volume that it is bound to. */
  claim(claim: CsiClaim): { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume } {
    return csiClaim(this.cluster, claim);
  }

  /** Creates a pod that is bound to the node. */
  create(name: string, over: ManifestOver = {}): Pod {
    return this.cluster.createPod(manifest(name, over));
  }

  /** Creates a pod with one container that has the volumes at `/<volume name>`; by default those of the claims. */
  createWith(
    name: string,
    volumes: readonly (string | Volume)[],
    { script = exitsOnTerm, ...over }: ManifestOver & { readonly script?: string } = {},
  ): Pod {
    const all = volumes.map((each) => (typeof each === 'string' ? claimVolume(each) : each));
    const volumeMounts = all.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
    return this.create(name, {
      volumes: all,
      containers: [container('main', script, { volumeMounts })],
      ...over,
    });
  }

  /** Deletes pods and waits until nothing of them is left. */
  async end(...names: readonly string[]): Promise<void> {
    const pods = names.map((name) => this.cluster.pod(name));
    for (const name of names) this.objects.delete('pods', 'default', name);
    for (const [at, name] of names.entries()) {
      await this.cluster.untilGone(name);
      const pod = pods[at];
      if (pod !== undefined) await untilNoTraces(this.rig, this.kubelet, pod);
    }
  }

  /** Ends all pods, without waiting for what they leave. */
  async endAll(): Promise<void> {
    const names = this.objects.list('pods', 'default').map(({ metadata }) => metadata?.name ?? '');
    for (const name of names) this.objects.delete('pods', 'default', name);
    await Promise.all(names.map((name) => this.cluster.untilGone(name)));
  }

  /** What the script prints in a container. Throws if the script fails. */
  async exec({ metadata, status }: Pod, script: string, name = 'main'): Promise<string> {
    const found = status?.containerStatuses?.find((each) => each.name === name);
    const { exitCode, stderr, stdout } = await this.rig.cri.execSync({
      containerId: (found?.containerID ?? '').replace('containerd://', ''),
      cmd: ['sh', '-c', script],
      timeout: 20n,
    });
    const text = new TextDecoder();
    if (exitCode !== 0)
      throw new Error(`${metadata?.name}: "${script}" exited with ${exitCode}: ${text.decode(stderr)}`);
    return text.decode(stdout);
  }

  /** The messages of the events with this reason, of pods, claims and volumes. */
  messages(reason: string, object?: string): readonly string[] {
    return this.objects
      .list('events')
      .filter(
        (event) =>
          event.reason === reason && (object ?? event.involvedObject.name) === event.involvedObject.name,
      )
      .map(({ message = '' }) => message);
  }

  async untilEvent(reason: string, text: string): Promise<void> {
    await waitFor(
      () => {
        const messages = this.messages(reason);
        if (messages.some((message) => message.includes(text))) return true;
        throw new Error(messages.join('\n'));
      },
      `an event ${reason}: ${text}`,
      waitMs,
    );
  }

  /** The sentence of /explain on a pod. */
  async explanation(name: string): Promise<string> {
    const { text } = await this.kubelet.secure('/explain');
    const { pods } = JSON.parse(text) as {
      readonly pods: readonly { readonly name: string; readonly explanation: string }[];
    };
    return pods.find((pod) => pod.name === name)?.explanation ?? '';
  }

  async untilExplained(name: string, text: string): Promise<void> {
    await waitFor(
      async () => {
        const explanation = await this.explanation(name);
        if (explanation.includes(text)) return true;
        throw new Error(explanation);
      },
      `/explain of ${name} to have: ${text}`,
      waitMs,
    );
  }

  /** The lines of /metrics that begin with the text. */
  async metrics(start: string): Promise<readonly string[]> {
    const { text } = await this.kubelet.secure('/metrics');
    return text.split('\n').filter((line) => line.startsWith(start));
  }

  /** As leftoversOnDisk(), with what the drivers regard as staged or published. */
  leftovers(): readonly string[] {
    const uses = this.#drivers.flatMap((driver) =>
      driver
        .volumes()
        .flatMap(({ handle, published, staged }) =>
          [...Object.keys(staged), ...Object.keys(published)].map(
            (path) => `${driver.name} ${handle}: ${path}`,
          ),
        ),
    );
    return [...uses, ...this.leftoversOnDisk()];
  }

  async untilNoLeftovers(): Promise<void> {
    await waitFor(
      () => {
        const left = this.leftovers();
        if (left.length === 0) return true;
        throw new Error(`left: ${left.join('\n')}`);
      },
      'all CSI volumes to be removed',
      waitMs,
    );
  }

  /** Ends all pods and drivers; fails if a driver has seen a violation or anything is left. */
  async close(): Promise<void> {
    const problems: unknown[] = [];
    try {
      if (this.kubelet.running) {
        await this.endAll();
        await this.untilNoLeftovers();
      }
    } catch (err) {
      problems.push(err);
    }
    problems.push(...this.#drivers.flatMap((driver) => driver.violations()));
    for (const driver of this.#drivers) await driver.clear();
    expect(problems).toEqual([]);
  }
}

/**
 * Starts a kubelet that has joined a cluster, waits until its node is Ready, and hands both to `onStarted`, which may start drivers
 * and is awaited.
 */
export function useCsiNode(
  onStarted: (node: CsiNode) => unknown,
  optionsOf: (cluster: Cluster) => KubeletOptions = () => ({}),
): void {
  let node: CsiNode | undefined;
  useClusterNode((parts) => {
    node = new CsiNode(parts);
  }, optionsOf);
  beforeAll(async () => {
    if (node !== undefined) await onStarted(node);
  });
  // So that the next test begins without the pods of a failed one.
  afterEach(async ({ task }) => {
    if (task.result?.state !== 'fail') return;
    await node
      ?.endAll()
      .catch((err: unknown) => console.error('Failed to end the pods of a failed test', err));
  }, 60_000 * slowness);
  // Hooks of this kind run in reverse order: before the node is stopped.
  afterAll(async () => await node?.close(), 120_000 * slowness);
}
