// A node of a cluster whose eviction thresholds are set from what is available on the machine now, and pods that take and return
// memory on request.
import { totalmem } from 'node:os';
import { expect } from 'vitest';
import type { Pod, PodStatus } from '../../src/api/k8s/types.ts';
import type { Kubelet, KubeletOptions } from '../rig/kubelet.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { waitFor } from '../rig/wait.ts';
import { type Cluster, isReady, startCluster } from './cluster.ts';
import { container, type ManifestOver, manifest } from './manifest.ts';

export const mebibyte = 1024 ** 2;
const nodeName = 'node1';
const waitMs = 40_000;

interface Explained {
  readonly explanation: string;
  readonly conditions: readonly string[];
  readonly memory: { readonly workingSetAvailableBytes: number };
  readonly signals: readonly { readonly signal: string; readonly available?: number }[];
  readonly order: readonly {
    readonly resource: string;
    readonly pods: readonly { readonly pod: string; readonly evictable: boolean; readonly usage?: number }[];
  }[];
}

/** What is available before the kubelet under test starts. */
interface Room {
  readonly workingSetBytes: number;
  readonly pids: number;
}

/** Prints a line on SIGTERM, so that the log has its time, and exits. */
const reportsTerm = "trap 'echo term; exit 0' TERM; while :; do sleep 2147483647 & wait $!; done";

/** A pod with an empty volume in memory, which `PressureNode.fill` fills. */
export function hog(name: string, script = reportsTerm, over: ManifestOver = {}): Pod {
  const mounted = { volumeMounts: [{ name: 'mem', mountPath: '/mem' }] };
  return manifest(name, {
    containers: [container('main', script, mounted)],
    volumes: [{ name: 'mem', emptyDir: { medium: 'Memory' } }],
    automountServiceAccountToken: false,
    ...over,
  });
}

export class PressureNode {
  readonly rig: Rig;
  readonly cluster: Cluster;
  #kubelet: Kubelet | undefined;
  /** Names of pods in the order in which the API server had them as Failed. */
  readonly failed: string[] = [];
  /** Names of pods in the order of their events Evicted, without those that were rejected. */
  readonly evicted: string[] = [];

  constructor(rig: Rig, cluster: Cluster) {
    this.rig = rig;
    this.cluster = cluster;
    cluster.double.store.subscribe(({ after }) => this.#noteChange(after));
  }

  #noteChange(object: unknown): void {
    const { involvedObject, message, metadata, reason, status } = (object ?? {}) as Pick<
      Pod,
      'metadata' | 'status'
    > & {
      readonly reason?: string;
      readonly message?: string;
      readonly involvedObject?: { readonly name?: string };
    };
    const note = (list: string[], name = ''): void => void (list.includes(name) || list.push(name));
    const isRejection = message?.startsWith('The node had condition') ?? false;
    if (involvedObject !== undefined && reason === 'Evicted' && !isRejection)
      note(this.evicted, involvedObject.name);
    if (status?.phase === 'Failed') note(this.failed, metadata?.name);
  }

  get kubelet(): Kubelet {
    if (this.#kubelet === undefined) throw new Error('no kubelet');
    return this.#kubelet;
  }

  /** Replaces the kubelet by one with these options, on an empty node. */
  async restart(optionsOf: (room: Room) => KubeletOptions): Promise<void> {
    await this.clear();
    const none = { config: { evictionHard: { 'memory.available': '1Ki', 'pid.available': '1' } } };
    await this.#start(none);
    const pids = await this.available('pid.available');
    const { workingSetAvailableBytes } = (await this.explain()).memory;
    await this.kubelet.stop();
    await this.#start(optionsOf({ workingSetBytes: workingSetAvailableBytes, pids }));
    await this.cluster.untilNodeReady();
  }

  async #start(options: KubeletOptions): Promise<void> {
    const flags = [`--kubeconfig=${this.cluster.kubeconfig}`, ...(options.flags ?? [])];
    this.#kubelet = this.rig.newKubelet({ nodeName, ...options, flags });
    await this.kubelet.start();
  }

  /** Removes all pods, and stops the kubelet. */
  async clear(): Promise<void> {
    await this.deletePods();
    if (this.#kubelet?.running === true) await this.kubelet.stop();
  }

  async deletePods(...names: readonly string[]): Promise<void> {
    const { objects } = this.cluster.double;
    const all = objects.list('pods').map(({ metadata }) => metadata?.name ?? '');
    const own = names.length === 0 ? all.filter((name) => !name.endsWith(`-${nodeName}`)) : names;
    for (const name of own) objects.delete('pods', 'default', name);
    for (const name of own) await this.cluster.untilGone(name);
  }

  /** Creates the pods, and waits until they are ready. */
  async run(...pods: readonly Pod[]): Promise<readonly Pod[]> {
    for (const pod of pods) this.cluster.createPod(pod);
    return Promise.all(pods.map(({ metadata }) => this.cluster.untilReady(metadata?.name ?? '')));
  }

  async explain(): Promise<Explained> {
    const response = await this.kubelet.get(this.kubelet.readOnlyPort, '/explain/eviction');
    return (await response.json()) as Explained;
  }

  async available(signal: string): Promise<number> {
    return waitFor(
      async () => (await this.explain()).signals.find((each) => each.signal === signal)?.available,
      `a figure of ${signal}`,
    );
  }

  async exec(name: string, script: string): Promise<string> {
    const id = this.cluster.pod(name)?.status?.containerStatuses?.[0]?.containerID ?? '';
    const { exitCode, stderr, stdout } = await this.rig.cri.execSync({
      containerId: id.replace('containerd://', ''),
      cmd: ['sh', '-c', script],
      timeout: 20n,
    });
    if (exitCode !== 0) throw new Error(`${script}: ${exitCode} ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout);
  }

  /** The pod takes this much memory. */
  async fill(name: string, bytes: number): Promise<void> {
    // The pod may be killed before the command returns.
    await this.exec(name, `fallocate -l ${Math.round(bytes)} /mem/file || echo failed`).then(
      (out) => expect(out).toBe(''),
      () => undefined,
    );
  }

  async drain(name: string): Promise<void> {
    await this.exec(name, 'rm /mem/file');
  }

  condition(type: string): string | undefined {
    return this.cluster.node()?.status?.conditions?.find((each) => each.type === type)?.status;
  }

  async untilCondition(type: string, status: 'True' | 'False'): Promise<void> {
    await waitFor(() => this.condition(type) === status, `${type} ${status}`, waitMs);
  }

  async untilEvicted(name: string): Promise<PodStatus> {
    const pod = await this.cluster.untilPod(name, 'to be evicted', ({ phase }) => phase === 'Failed');
    expect(pod.status?.reason).toBe('Evicted');
    return pod.status ?? {};
  }

  /** The only event Evicted of this pod. */
  async evictedEvent(name: string): Promise<{ readonly message?: string; readonly annotations: unknown }> {
    const found = await waitFor(() => {
      const events = this.cluster.double.objects.list('events');
      const own = events.filter((each) => each.reason === 'Evicted' && each.involvedObject?.name === name);
      return own.length > 0 && own;
    }, `the event of ${name}`);
    expect(found).toHaveLength(1);
    const [{ message, metadata, type } = {}] = found;
    expect(type).toBe('Warning');
    return { ...(message !== undefined && { message }), annotations: metadata?.annotations };
  }

  /** The evictions that /metrics counts for this signal. */
  async evictions(signal: string): Promise<number> {
    const { text } = await this.kubelet.secure('/metrics');
    const value = new RegExp(`^kubelet_evictions\\{eviction_signal="${signal}"\\} (\\d+)$`, 'm').exec(
      text,
    )?.[1];
    return Number(value ?? 0);
  }

  /** Fails unless these pods run in the same containers as before. */
  expectUntouched(before: readonly Pod[]): void {
    for (const { metadata, status } of before) {
      const now = this.cluster.pod(metadata?.name ?? '')?.status ?? {};
      expect([metadata?.name, now.phase, isReady(now)]).toEqual([metadata?.name, 'Running', true]);
      const identity = (of: PodStatus = {}): unknown =>
        of.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]);
      expect(identity(now)).toEqual(identity(status));
    }
  }

  async stop(): Promise<void> {
    await this.rig.stop();
    await this.cluster.stop();
  }
}

export async function startPressureNode(): Promise<PressureNode> {
  const rig = await startRig();
  return new PressureNode(rig, await startCluster(rig, nodeName));
}

/** Limits all pods together to this much memory, so that nothing else on the machine affects allocatableMemory.available. */
export function limitedPods(bytes: number): Readonly<Record<string, unknown>> {
  return { kubeReserved: { memory: `${totalmem() - bytes}` } };
}
