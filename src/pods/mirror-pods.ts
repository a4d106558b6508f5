// Represents static pods in the API by one mirror pod each, created and deleted beside the pod's sync and never delaying it.
// Upstream: tryReconcileMirrorPods in kubelet.go, pkg/kubelet/pod/mirror_client.go, deleteOrphanedMirrorPods.
// A loop keyed by full name. Invariants: a mirror pod is deleted by UID only, so never a pod that the kubelet did not create;
// nothing is deleted before every source has reported; a mirror pod stays until its static pod has terminated, even if the
// manifest has been edited since; a failed call is retried with backoff, whatever else changes on the node.
import type { Node, OwnerReference, Pod } from '../api/k8s/types.ts';
import { isDown, type ObservedPod } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podFullName, podRef } from '../api/pod/pod-ref.ts';
import {
  configHashAnnotation,
  configMirrorAnnotation,
  isMirrorOf,
  mirroredUid,
} from '../api/ports/pod-source.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { isKind, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import type { ApiPods } from './api-pods.ts';

interface MirrorPodsStores {
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod; readonly source: string } | undefined;
    all(): readonly { readonly pod: Pod; readonly source: string }[];
    sourcesReady(): boolean;
    readonly changed: Subscribable<PodUid>;
    readonly ready: Subscribable<void>;
  };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly observed: {
    get(uid: PodUid): ObservedPod | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly apiPods: Pick<
    ApiPods,
    'mirror' | 'mirrorNames' | 'hasSynced' | 'changed' | 'mirrorChanged' | 'synced'
  >;
  readonly ownNode: { get(): Node | undefined; readonly changed: Subscribable<void> };
}

interface MirrorPodsDeps {
  readonly stores: MirrorPodsStores;
  readonly runtime: {
    /** False until the runtime has been inspected for this pod. */
    isInspected(uid: PodUid): boolean;
    /** Announced when the runtime answers for the first time, or again. */
    readonly answered: Subscribable<void>;
  };
  readonly nodeName: string;
  readonly api: {
    create(pod: Pod, signal: AbortSignal): Promise<unknown>;
    /** With grace period 0, and only if the pod has this UID. */
    delete(pod: Pod, signal: AbortSignal): Promise<void>;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

const parallelCalls = 4;

export class MirrorPods implements Component {
  readonly name = 'mirror-pods';
  readonly #deps: MirrorPodsDeps;
  readonly #queue: KeyedQueue<string>;

  constructor(deps: MirrorPodsDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<string>({
      clock: deps.clock,
      parallel: parallelCalls,
      run: (fullName, signal) => this.#sync(fullName, signal),
      backoff: { initialMs: 500, maxMs: 10_000, jitter: 0.2 },
      onError: (pod, err, retryInMs) => {
        const fields = { pod, retryInMs: Math.round(retryInMs), err };
        if (isKind(err, 'unavailable')) deps.log.v(2).info('Failed to sync mirror pod', fields);
        else deps.log.error('Failed to sync mirror pod', fields);
      },
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    this.#pokeAll();
    return { stopped: this.#stopAfter(signal) };
  }

  get wakes() {
    const { runtime, stores } = this.#deps;
    const { apiPods, desired, lifecycles, observed, ownNode } = stores;
    const pokeAll = (): void => this.#pokeAll();
    return [
      on(desired.changed, (uid) => {
        const entry = desired.get(uid);
        if (entry === undefined) pokeAll();
        else if (entry.source !== 'api') this.#queue.add(podFullName(entry.pod));
      }),
      on(desired.ready, pokeAll),
      on(lifecycles.changed, (uid) => {
        if (lifecycles.get(uid) === undefined) this.#pokeMirrorOf(uid);
      }),
      on(observed.changed, (uid) => {
        if (desired.get(uid) === undefined) this.#pokeMirrorOf(uid);
      }),
      on(runtime.answered, pokeAll),
      on(apiPods.mirrorChanged, (fullName) => this.#queue.add(fullName)),
      on(apiPods.changed, pokeAll),
      on(apiPods.synced, pokeAll),
      on(ownNode.changed, pokeAll),
    ];
  }

  /** The pod has stopped: its mirror pod may be deleted. */
  #pokeMirrorOf(uid: PodUid): void {
    const { apiPods } = this.#deps.stores;
    for (const name of apiPods.mirrorNames()) {
      if (mirroredUid(apiPods.mirror(name)) === uid) this.#queue.addUnlessBackingOff(name);
    }
  }

  /** Anything about the node or its pods has changed. A failed call keeps waiting for its retry. */
  #pokeAll(): void {
    for (const pod of this.#staticPods()) this.#queue.addUnlessBackingOff(podFullName(pod));
    for (const name of this.#deps.stores.apiPods.mirrorNames()) this.#queue.addUnlessBackingOff(name);
  }

  #staticPods(): readonly Pod[] {
    return this.#deps.stores.desired.all().flatMap(({ pod, source }) => (source === 'api' ? [] : [pod]));
  }

  async #sync(fullName: string, signal: AbortSignal): Promise<void> {
    const { apiPods, desired } = this.#deps.stores;
    // The first list wakes this loop again.
    if (!apiPods.hasSynced()) return;
    const staticPod = this.#staticPods().find((pod) => podFullName(pod) === fullName);
    const mirror = apiPods.mirror(fullName);
    if (staticPod === undefined) {
      if (mirror === undefined || !desired.sourcesReady() || this.#mirrorsRunningPod(mirror)) return;
      await this.#delete(mirror, 'its static pod was removed', signal);
      return;
    }
    if (mirror !== undefined && isMirrorOf(mirror, staticPod)) {
      if (mirror.metadata?.deletionTimestamp === undefined) return;
      await this.#delete(mirror, 'its static pod is not being deleted', signal);
    } else if (mirror !== undefined) {
      if (this.#mirrorsRunningPod(mirror)) return;
      await this.#delete(mirror, 'it mirrors an earlier static pod', signal);
    }
    await this.#create(staticPod, signal);
  }

  #mirrorsRunningPod(mirror: Pod): boolean {
    const uid = mirroredUid(mirror);
    return uid !== undefined && this.#mayRun(uid);
  }

  /** True until the runtime has been inspected: containers of an earlier process may still run. */
  #mayRun(uid: PodUid): boolean {
    const { runtime, stores } = this.#deps;
    return (
      stores.lifecycles.get(uid) !== undefined ||
      !runtime.isInspected(uid) ||
      !isDown(stores.observed.get(uid))
    );
  }

  /** Undefined until the node is registered, and while it is being deleted. */
  #owner(): { readonly name: string; readonly uid: string } | undefined {
    const { deletionTimestamp, uid } = this.#deps.stores.ownNode.get()?.metadata ?? {};
    return uid === undefined || deletionTimestamp !== undefined
      ? undefined
      : { name: this.#deps.nodeName, uid };
  }

  async #delete(mirror: Pod, why: string, signal: AbortSignal): Promise<void> {
    const { api, log } = this.#deps;
    try {
      await api.delete(mirror, signal);
      log.info('Deleted mirror pod', { pod: podRef(mirror), podUID: mirror.metadata?.uid, why });
    } catch (err) {
      // Already deleted, or replaced: the watch reports both.
      if (!isKind(err, 'not-found') && !isKind(err, 'conflict')) throw err;
    }
  }

  async #create(pod: Pod, signal: AbortSignal): Promise<void> {
    const { api, log, stores } = this.#deps;
    const owner = this.#owner();
    if (owner === undefined) return;
    try {
      await api.create(mirrorOf(pod, owner), signal);
      log.info('Created mirror pod', { pod: podRef(pod) });
    } catch (err) {
      if (!(err instanceof KubeletError) || err.reason !== 'AlreadyExists') throw err;
      // Most likely our own, which the watch has not delivered yet. A foreign pod is never delivered, and the error is logged.
      if (stores.apiPods.mirror(podFullName(pod)) === undefined) throw err;
    }
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}

/** The mirror pod to create: owned by the node, and without the static pod's UID, since the API server assigns one. */
export function mirrorOf(pod: Pod, node: { readonly name: string; readonly uid: string }): Pod {
  const { uid: _local, ...metadata } = pod.metadata ?? {};
  const owner: OwnerReference = {
    apiVersion: 'v1',
    kind: 'Node',
    name: node.name,
    uid: node.uid,
    controller: true,
  };
  const hash = metadata.annotations?.[configHashAnnotation] ?? '';
  return {
    ...pod,
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [configMirrorAnnotation]: hash },
      ownerReferences: [owner],
    },
  };
}
