// Publishes the pods that are bound to this node in the API server. Upstream: pkg/kubelet/config/apiserver.go and the mux of
// config.go. Invariants: no list before the Node object is known, and nothing published before the first list, since no answer does
// not mean no pods; the kubelet's own status writes do not publish the pod again.
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import type { Follow, WatchSink } from '../api/ports/api-client.ts';
import { configSourceAnnotation, isMirrorPod } from '../api/ports/pod-source.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';

interface ApiSourceDeps {
  readonly follow: Follow;
  readonly nodeName: string;
  readonly ownNode: {
    /** Whether the Node object has been seen once: admission of pods depends on its labels and taints. */
    hasSynced(): boolean;
    readonly changed: Subscribable<void>;
  };
  /** Receives every pod object, including mirror pods, before the pods are published. */
  readonly objects: WatchSink<Pod>;
  readonly publish: (source: 'api', pods: readonly Pod[]) => void;
  /** Publishes pods that were kept from an earlier contact: others may exist, so the source has not reported yet. */
  readonly publishKept: (source: 'api', pods: readonly Pod[]) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Known {
  readonly fingerprint: string;
  readonly pod: Pod;
}

/** Conditions that only the kubelet writes: their changes are ignored. */
const ownConditions: readonly string[] = [
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodReadyToStartContainers',
  'PodResizeInProgress',
  'PodResizePending',
  'AllContainersRestarting',
];

export class ApiSource implements Component {
  readonly name = 'api-source';
  readonly #deps: ApiSourceDeps;
  readonly #known = new Map<string, Known>();

  constructor(deps: ApiSourceDeps) {
    this.#deps = deps;
  }

  /** Does not wait for the API server. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return { stopped: this.#run(signal) };
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { follow, log, nodeName, ownNode } = this.#deps;
    if (!ownNode.hasSynced()) log.info('Waiting for node sync before watching API server pods');
    await this.#nodeSynced(signal);
    if (signal.aborted) return;
    log.info('Watching API server for pods');
    const target = { path: '/api/v1/pods', fieldSelector: `spec.nodeName=${nodeName}` };
    await follow<Pod>(
      target,
      {
        replace: (pods) => this.#replace(pods.map(withoutManagedFields)),
        provisional: (pods) => this.#replaceKept(pods),
        upsert: (pod) => this.#upsert(withoutManagedFields(pod)),
        remove: (pod) => this.#remove(pod),
      },
      signal,
    );
  }

  async #nodeSynced(signal: AbortSignal): Promise<void> {
    const { ownNode } = this.#deps;
    if (ownNode.hasSynced()) return;
    let unsubscribe = (): void => undefined;
    const synced = new Promise<void>((resolve) => {
      unsubscribe = ownNode.changed.subscribe(() => {
        if (ownNode.hasSynced()) resolve();
      });
    });
    await Promise.race([synced, untilAborted(signal)]);
    unsubscribe();
  }

  #replace(pods: readonly Pod[]): void {
    this.#deps.objects.replace(pods);
    const uids = new Set(pods.map(uidOf));
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
    for (const pod of pods) this.#accept(pod);
    this.#publish();
  }

  /** The store of API objects stays empty: statuses are sent, and mirror pods compared, against the server's own state only. */
  #replaceKept(pods: readonly Pod[]): void {
    for (const pod of pods) this.#accept(pod);
    this.#deps.publishKept('api', this.#pods());
  }

  #upsert(pod: Pod): void {
    this.#deps.objects.upsert(pod);
    if (this.#accept(pod)) this.#publish();
  }

  #remove(pod: Pod): void {
    this.#deps.objects.remove(pod);
    if (this.#known.delete(uidOf(pod))) this.#publish();
  }

  /** Returns whether the pod has to be published. */
  #accept(pod: Pod): boolean {
    if (isMirrorPod(pod)) return false;
    const known = this.#known.get(uidOf(pod));
    const fingerprint = fingerprintOf(pod);
    if (known?.fingerprint === fingerprint) return false;
    const seen = known?.pod.metadata?.annotations?.[seenAnnotation];
    this.#known.set(uidOf(pod), { fingerprint, pod: this.#marked(pod, seen) });
    return true;
  }

  #marked(pod: Pod, seen: string | undefined): Pod {
    const annotations = {
      ...pod.metadata?.annotations,
      [configSourceAnnotation]: 'api',
      [seenAnnotation]: seen ?? new Date(this.#deps.clock.now()).toISOString(),
    };
    // Items of a list have no apiVersion and kind.
    return { ...pod, apiVersion: 'v1', kind: 'Pod', metadata: { ...pod.metadata, annotations } };
  }

  #publish(): void {
    this.#deps.publish('api', this.#pods());
  }

  #pods(): readonly Pod[] {
    return [...this.#known.values()].map(({ pod }) => pod);
  }
}

/** Managed fields are often larger than the pod itself, and the kubelet does not use them. */
function withoutManagedFields(pod: Pod): Pod {
  const { managedFields: _unused, ...metadata } = pod.metadata ?? {};
  return { ...pod, metadata };
}

function uidOf(pod: Pod): string {
  return pod.metadata?.uid ?? '';
}

/** Covers everything of a pod that the kubelet acts on. */
function fingerprintOf({ metadata, spec, status }: Pod): string {
  const { resourceVersion: _ignored, ...identity } = metadata ?? {};
  const foreign = (status?.conditions ?? []).filter(({ type }) => !ownConditions.includes(type));
  const ended = isTerminalPhase(status?.phase);
  return JSON.stringify([identity, spec, foreign, status?.resourceClaimStatuses, ended]);
}
