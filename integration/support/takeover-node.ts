// A node of a cluster whose kubelet is replaced by another one, with the pods of takeover-pods.ts.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Pod } from '../../src/api/k8s/types.ts';
import { staticPodHashes } from '../../src/api/pod/static-pod-hash/compute.ts';
import { buildStaticPod } from '../../src/sources/static-pod.ts';
import { makeCgroup } from '../rig/cgroups.ts';
import { buildBusyboxImage } from '../rig/images.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { waitFor } from '../rig/wait.ts';
import { type Cluster, startCluster } from './cluster.ts';
import {
  readVolumes,
  registryUser,
  sizes,
  type TakeoverPods,
  takeoverPods,
  volumeContent,
} from './takeover-pods.ts';
import {
  allocations,
  certificates,
  podFacts,
  pullRecords,
  runtimeState,
  stateFiles,
  volumeMounts,
} from './takeover-state.ts';

const nodeName = 'node1';
const running = ['volumes', 'sized', 'private', 'restarted', `static-${nodeName}`] as const;
const podNames = [...running, 'completed'] as const;
/** Probes, the node status and the relist have run several times by then. */
const settleMs = 5_000;
const deadlineMs = 60_000;

export class TakeoverNode {
  readonly #rig: Rig;
  readonly #cluster: Cluster;
  readonly #pods: TakeoverPods;
  #kubelet: Kubelet;

  constructor(rig: Rig, cluster: Cluster, pods: TakeoverPods, command: string | undefined) {
    this.#rig = rig;
    this.#cluster = cluster;
    this.#pods = pods;
    this.#kubelet = this.#newKubelet(command);
  }

  /** `command` is another kubelet than this one. */
  #newKubelet(command: string | undefined): Kubelet {
    return this.#rig.newKubelet({
      nodeName,
      config: {
        rotateCertificates: true,
        serverTLSBootstrap: true,
        // The API server double reads no protobuf.
        ...(command === undefined ? {} : { contentType: 'application/json' }),
        // On by default since v1.35.
        featureGates: { KubeletEnsureSecretPulledImages: true },
      },
      flags: [
        `--bootstrap-kubeconfig=${this.#cluster.bootstrapKubeconfig}`,
        `--kubeconfig=${join(this.#rig.workspace.dir, 'joined.kubeconfig')}`,
      ],
      ...(command === undefined ? {} : { command }),
    });
  }

  /** Starts the first kubelet and its pods. With `asV134` the static pod has the UID of that release. */
  async start(asV134: boolean): Promise<void> {
    makeCgroup(this.#rig.workspace.name);
    await this.#kubelet.start();
    await this.#cluster.untilNodeReady();
    this.#createObjects();
    for (const pod of this.#pods.api) this.#cluster.createPod(pod);
    const { staticPod } = this.#pods;
    const uid = asV134 ? { uid: this.#earlierUid(staticPod) } : {};
    this.#kubelet.writeManifest('static', { ...staticPod, metadata: { ...staticPod.metadata, ...uid } });
    for (const name of running) await this.#cluster.untilReady(name);
    await this.#cluster.untilPod('completed', 'to complete', ({ phase }) => phase === 'Succeeded');
    await this.#cluster.untilPod('restarted', 'to be restarted', (status) =>
      Boolean(status.containerStatuses?.some(({ ready, restartCount }) => ready && restartCount === 1)),
    );
    await this.#resize(sizes.after);
    await waitFor(() => certificates(this.#kubelet), 'the certificates', deadlineMs);
    await sleep(settleMs);
  }

  #createObjects(): void {
    const { objects } = this.#cluster.double;
    const metadata = { namespace: 'default' };
    for (const each of this.#pods.configMaps)
      objects.create('configmaps', { ...each, metadata: { ...each.metadata, ...metadata } });
    for (const each of this.#pods.secrets)
      objects.create('secrets', { ...each, metadata: { ...each.metadata, ...metadata } });
    const { claim, volume } = this.#pods;
    const bound = objects.create('persistentvolumeclaims', {
      ...claim,
      metadata: { ...claim.metadata, ...metadata },
    });
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
    objects.patch('persistentvolumeclaims', 'default', 'claim', { status }, 'status');
    objects.create('persistentvolumes', volume(bound.metadata?.uid ?? ''));
  }

  #earlierUid(pod: Pod): string {
    const built = buildStaticPod(pod, {
      nodeName,
      source: 'file',
      origin: this.#kubelet.manifestPath('static'),
      nowMs: 0,
      computeHash: (...args) => [...staticPodHashes.computeEarlierHashes(...args)][2] ?? '',
    });
    return built.ok ? (built.pod.metadata?.uid ?? '') : built.violations.join();
  }

  async #resize(resources: (typeof sizes)[keyof typeof sizes]): Promise<void> {
    const containers = (this.#cluster.pod('sized')?.spec?.containers ?? []).map((each) => ({
      ...each,
      resources,
    }));
    this.#cluster.double.objects.patch('pods', 'default', 'sized', { spec: { containers } }, 'resize');
    await this.#cluster.untilPod('sized', 'to be resized', ({ conditions = [], containerStatuses = [] }) => {
      const cpu = containerStatuses[0]?.resources?.limits?.['cpu'];
      return cpu === resources.limits.cpu && !conditions.some(({ type }) => type.startsWith('PodResize'));
    });
  }

  /** What a successor must neither lose nor change. */
  async #state(): Promise<Record<string, unknown>> {
    const kubelet = this.#kubelet;
    return {
      runtime: await runtimeState(this.#rig),
      records: pullRecords(kubelet),
      mounts: volumeMounts(kubelet),
      certificates: certificates(kubelet),
    };
  }

  #reported(): Record<string, unknown> {
    return Object.fromEntries(
      podNames.map((name) => {
        const pod = this.#cluster.pod(name);
        return [name, pod && podFacts(pod)];
      }),
    );
  }

  /**
   * Ends the kubelet and starts the next one (this kubelet if `command` is undefined). `recreate` rewrites what the first one
   * leaves as an earlier release would. Returns the errors in the log of the next one.
   */
  async replace(
    end: 'stop' | 'kill9',
    { command, recreate }: { readonly command?: string; readonly recreate?: (kubelet: Kubelet) => void },
  ): Promise<readonly string[]> {
    const before = await this.#state();
    await this.#kubelet[end]();
    if (recreate !== undefined) {
      recreate(this.#kubelet);
      this.#removeLaterFields();
    }
    const [allocated, files] = [allocations(this.#kubelet), stateFiles(this.#kubelet)];
    this.#kubelet = this.#newKubelet(command);
    this.#kubelet.writeManifest('static', this.#pods.staticPod);
    const from = this.#kubelet.log.end;
    await this.#kubelet.start();
    await waitFor(
      async () => (await this.#kubelet.pods()).length === podNames.length,
      'the pods to be listed',
      deadlineMs,
    );
    await sleep(settleMs);
    expect(await this.#state()).toEqual(before);
    expect(allocations(this.#kubelet)).toEqual(allocated);
    expect(stateFiles(this.#kubelet)).toEqual(expect.arrayContaining([...files]));
    expect(await this.contentOfVolumes()).toBe(volumeContent);
    return this.#kubelet.log.matching(/^[EF]\d{4} /, from);
  }

  /** Of statuses, which v1.34 does not report. */
  #removeLaterFields(): void {
    const status = { resources: null, allocatedResources: null };
    for (const name of podNames)
      this.#cluster.double.objects.patch('pods', 'default', name, { status }, 'status');
  }

  /** Runs `change` and checks that the API server never had another readiness, and has the same status in the end. */
  async withoutTransition(change: () => Promise<unknown>): Promise<void> {
    const before = this.#reported();
    const flips: string[] = [];
    const unsubscribe = this.#cluster.double.store.subscribe(({ after, type }) => {
      if (type.plural !== 'pods' || after === undefined) return;
      const pod = after as Pod;
      const ready = pod.status?.conditions?.find((each) => each.type === 'Ready');
      const isRunning = running.some((name) => name === pod.metadata?.name);
      if (isRunning && ready?.status !== 'True')
        flips.push(`${pod.metadata?.name}: ${JSON.stringify(ready)}`);
    });
    try {
      await change();
    } finally {
      unsubscribe();
    }
    expect(flips).toEqual([]);
    expect(this.#reported()).toEqual(before);
  }

  async contentOfVolumes(): Promise<string> {
    const statuses = this.#cluster.pod('volumes')?.status?.containerStatuses ?? [];
    const id = statuses.find(({ name }) => name === 'main')?.containerID ?? '';
    const { stdout } = await this.#rig.cri.execSync({
      containerId: id.replace('containerd://', ''),
      cmd: ['sh', '-c', readVolumes],
      timeout: 20n,
    });
    return new TextDecoder().decode(stdout).trim();
  }

  /** The adopted pods follow their objects: a ConfigMap, a resize, and the Secret that an image requires. */
  async expectManaged(): Promise<void> {
    const { objects } = this.#cluster.double;
    objects.patch('configmaps', 'default', 'volumes-config', { data: { k: 'second\n' } });
    const updated = volumeContent.replace('first', 'second');
    await waitFor(async () => (await this.contentOfVolumes()) === updated, 'the update', deadlineMs);
    await this.#resize(sizes.before);
    const { imagePullSecrets: _, ...spec } = this.#pods.api.find(
      ({ metadata }) => metadata?.name === 'private',
    )?.spec ?? { containers: [] };
    this.#cluster.createPod({ metadata: { name: 'intruder' }, spec });
    await this.#cluster.untilPod('intruder', 'to be refused', ({ containerStatuses = [] }) =>
      containerStatuses.some(({ state }) => state?.waiting?.reason === 'ErrImagePull'),
    );
  }

  /** Nothing of the adopted pods is left once they are deleted. */
  async expectRemoved(): Promise<void> {
    this.#kubelet.removeManifest('static');
    for (const { metadata } of this.#cluster.double.objects.list('pods', 'default'))
      if (metadata?.name !== `static-${nodeName}`)
        this.#cluster.double.objects.delete('pods', 'default', metadata?.name ?? '');
    for (const name of [...podNames, 'intruder']) await this.#cluster.untilGone(name);
    const left = async (): Promise<unknown> => [
      await runtimeState(this.#rig),
      readdirSync(join(this.#kubelet.rootDir, 'pods')),
      volumeMounts(this.#kubelet),
    ];
    await expect.poll(left, { timeout: deadlineMs }).toEqual([[], [], []]);
  }

  describe(): string {
    return this.#cluster.describeState(this.#kubelet);
  }

  async stop(): Promise<void> {
    await this.#rig.stop();
    await this.#cluster.stop();
  }
}

/** A node on a new rig, whose first kubelet is `command`, or this one. */
export async function prepareTakeover(command: string | undefined): Promise<TakeoverNode> {
  const rig = await startRig();
  const cluster = await startCluster(rig, nodeName);
  rig.registry.requireAuth(registryUser);
  const image = rig.registry.add('team/app:1', await buildBusyboxImage());
  return new TakeoverNode(rig, cluster, takeoverPods(join(rig.workspace.dir, 'data'), image), command);
}
