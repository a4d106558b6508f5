// Shows static pods in the API: one mirror pod each, made and deleted beside the sync and never in its way.
// Upstream: tryReconcileMirrorPods in kubelet.go, pkg/kubelet/pod/mirror_client.go, deleteOrphanedMirrorPods.
// A loop keyed by full name. Invariants: a mirror pod is deleted by UID only, so never a pod of somebody else's; nothing is
// deleted before every source has reported; a mirror pod shows its static pod until that has ended, even when the manifest
// has been edited meanwhile; a failed call is retried with back-off, whatever else changes on the node.
import type { OwnerReference, Pod } from '../api/k8s/types.ts';
import { type PodUid, podFullName, podRef } from '../api/pod/pod-ref.ts';
import {
  configHashAnnotation,
  configMirrorAnnotation,
  isMirrorOf,
  mirroredUid,
} from '../api/ports/pod-source.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { isKind, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';

export interface MirrorPodsDeps {
  readonly statics: {
    /** The static pod of this name that is wanted. */
    get(fullName: string): Pod | undefined;
    /** Whether something of this pod may still run; true until the runtime was asked. */
    mayRun(uid: PodUid): boolean;
    names(): readonly string[];
    sourcesReady(): boolean;
  };
  readonly mirrors: {
    mirror(fullName: string): Pod | undefined;
    mirrorNames(): readonly string[];
    hasSynced(): boolean;
  };
  /** This node, once it is registered; undefined while it is not, or while it is being deleted. */
  readonly node: () => { readonly name: string; readonly uid: string } | undefined;
  readonly api: {
    create(pod: Pod, signal: AbortSignal): Promise<unknown>;
    /** At once (grace 0), only if it has this UID. */
    delete(pod: Pod, signal: AbortSignal): Promise<void>;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

const parallelCalls = 4;

export class MirrorPods implements Component {
  readonly name = 'mirror pods';
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

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    this.pokeAll();
    return { stopped: this.#stopAfter(signal) };
  }

  /** The static or the mirror pod of this name has changed. Cheap, idempotent, safe from anywhere. */
  poke(fullName: string): void {
    this.#queue.add(fullName);
  }

  /** Nothing more of this pod runs: the mirror pod that shows it may go. */
  pokeShowing(uid: PodUid): void {
    const { mirrors } = this.#deps;
    for (const name of mirrors.mirrorNames()) {
      if (mirroredUid(mirrors.mirror(name)) === uid) this.#queue.addUnlessBackingOff(name);
    }
  }

  /**
   * The node was registered, the API server has listed the pods, or the last source has reported. Called on every change of
   * any pod as well, so what failed waits for its retry.
   */
  pokeAll(): void {
    for (const name of this.#deps.statics.names()) this.#queue.addUnlessBackingOff(name);
    for (const name of this.#deps.mirrors.mirrorNames()) this.#queue.addUnlessBackingOff(name);
  }

  async #sync(fullName: string, signal: AbortSignal): Promise<void> {
    const { mirrors, statics } = this.#deps;
    // Who is waited for here pokes when the time has come.
    if (!mirrors.hasSynced()) return;
    const wanted = statics.get(fullName);
    const mirror = mirrors.mirror(fullName);
    if (wanted === undefined) {
      if (mirror === undefined || !statics.sourcesReady() || this.#showsLivePod(mirror)) return;
      await this.#delete(mirror, 'its static pod is gone', signal);
      return;
    }
    if (mirror !== undefined && isMirrorOf(mirror, wanted)) {
      if (mirror.metadata?.deletionTimestamp === undefined) return;
      await this.#delete(mirror, 'its static pod is not being deleted', signal);
    } else if (mirror !== undefined) {
      if (this.#showsLivePod(mirror)) return;
      await this.#delete(mirror, 'it shows an earlier static pod', signal);
    }
    await this.#create(wanted, signal);
  }

  #showsLivePod(mirror: Pod): boolean {
    const uid = mirroredUid(mirror);
    return uid !== undefined && this.#deps.statics.mayRun(uid);
  }

  async #delete(mirror: Pod, why: string, signal: AbortSignal): Promise<void> {
    const { api, log } = this.#deps;
    try {
      await api.delete(mirror, signal);
      log.info('Deleted mirror pod', { pod: podRef(mirror), podUID: mirror.metadata?.uid, why });
    } catch (err) {
      // Gone already, or another pod by now: both are told by the watch.
      if (!isKind(err, 'not-found') && !isKind(err, 'conflict')) throw err;
    }
  }

  async #create(pod: Pod, signal: AbortSignal): Promise<void> {
    const { api, log, mirrors, node } = this.#deps;
    const owner = node();
    if (owner === undefined) return;
    try {
      await api.create(mirrorOf(pod, owner), signal);
      log.info('Created mirror pod', { pod: podRef(pod) });
    } catch (err) {
      if (!(err instanceof KubeletError) || err.reason !== 'AlreadyExists') throw err;
      // Most likely our own, which the watch has not shown yet; if it is another's, the watch never will, and it is told.
      if (mirrors.mirror(podFullName(pod)) === undefined) throw err;
    }
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}

/** The static pod as it is shown: without its UID, which the API server gives anew, and owned by the node. */
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
