// Patches pod statuses into the API server, and deletes the API object of a terminated pod. A loop keyed by pod UID.
// Invariants: only the latest status is sent, never an older one after it; a patch holds only the differences and the UID it
// is for; readiness changes and terminal phases go first; an object is deleted once, by UID, after its final status.
// Upstream: syncBatch, syncPod and canBeDeleted in pkg/kubelet/status/status_manager.go.

import { isDeepStrictEqual } from 'node:util';
import { mergeKeysOfPod } from '../../api/k8s/generated/merge-keys.ts';
import { laterObject } from '../../api/k8s/resource-version.ts';
import { type JsonObject, strategicDiff } from '../../api/k8s/strategic-diff.ts';
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import { isTerminalPhase } from '../../api/pod/active-pod.ts';
import { staticPodsNamed, statusTarget } from '../../api/pod/mirrors.ts';
import { isDown, type ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef } from '../../api/pod/pod-ref.ts';
import { isMirrorPod } from '../../api/ports/pod-source.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { type Component, type LoopLoad, on } from '../../base/component.ts';
import { isKind } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import { Slots } from '../../base/slots.ts';
import { couldHaveRunningContainers, mergePodStatus } from './merge-status.ts';

interface PodStatusApi {
  get(pod: Pod, signal: AbortSignal): Promise<Pod>;
  /** A strategic merge patch of the status subresource. */
  patchStatus(pod: Pod, patch: JsonObject, signal: AbortSignal): Promise<Pod>;
  /** With grace period 0, and only if the object has this UID. */
  delete(pod: Pod, signal: AbortSignal): Promise<void>;
}

interface PusherStores {
  readonly statuses: {
    get(uid: PodUid): PodStatus | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod; readonly source: string } | undefined;
    all(): readonly { readonly uid: PodUid; readonly pod: Pod; readonly source: string }[];
  };
  readonly apiPods: {
    get(uid: PodUid): Pod | undefined;
    mirror(fullName: string): Pod | undefined;
    readonly changed: Subscribable<PodUid>;
    readonly mirrorChanged: Subscribable<string>;
  };
}

interface StatusPusherDeps {
  readonly stores: PusherStores;
  readonly api: PodStatusApi;
  /** Records how long a status waited before the API server accepted it. */
  readonly observe?: (seconds: number) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** State per pod, kept while the API has an object for it. */
interface PushState {
  /** The API server's response to the last patch; the watch may not have it yet. */
  written?: Pod;
  /** The known object is stale: get it before the next patch. */
  mustGet: boolean;
  /** UID of the object that was deleted; with a finalizer it still exists. */
  deleted?: string;
  /** Monotonic time of the oldest unsent change. */
  sinceMs?: number;
  /** The last patch, the monotonic time at which it was sent, and how often in a row. */
  patch?: { readonly text: string; readonly atMs: number; readonly times: number };
}

const parallelRuns = 1000;
/** Concurrent API calls. Further ones queue in `#slots`, where urgent ones overtake. */
const parallelCalls = 10;
/**
 * Delay before an identical patch is repeated, doubled each time: an API server of an earlier release drops fields that it
 * does not know, and a webhook may modify what it is sent. differs from upstream: repeated every 10 s there.
 */
const repeatDelayMs = 10_000;
const maxRepeatDelayMs = 10 * 60_000;
const urgent = 0;
const ordinary = 1;

export class StatusPusher implements Component {
  readonly name = 'status-pusher';
  readonly #deps: StatusPusherDeps;
  readonly #queue: KeyedQueue<PodUid>;
  readonly #slots: Slots;
  readonly #states = new Map<PodUid, PushState>();

  constructor(deps: StatusPusherDeps) {
    this.#deps = deps;
    this.#slots = new Slots({ clock: deps.clock, count: parallelCalls, leaseMs: Number.POSITIVE_INFINITY });
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: parallelRuns,
      run: (uid, signal) => this.#push(uid, signal),
      backoff: { initialMs: 200, maxMs: 10_000, jitter: 0.3 },
      onError: (podUID, err, retryInMs) => {
        const fields = { podUID, retryInMs: Math.round(retryInMs), err };
        if (isKind(err, 'unavailable')) deps.log.v(2).info('Failed to send pod status', fields);
        else deps.log.error('Failed to send pod status', fields);
      },
    });
  }

  get wakes() {
    const { apiPods, desired, lifecycles, statuses } = this.#deps.stores;
    const poke = (uid: PodUid): void => this.poke(uid);
    return [
      on(statuses.changed, poke),
      on(lifecycles.changed, poke),
      on(apiPods.changed, poke),
      on(apiPods.mirrorChanged, (fullName) => staticPodsNamed(desired, fullName).forEach(poke)),
    ];
  }

  /** The pod's status, lifecycle or API object may have changed. Cheap, idempotent, safe from anywhere. */
  poke(uid: PodUid): void {
    this.#queue.add(uid);
  }

  /** Whether the API server has the pod's terminal phase, or has no object of the pod. */
  hasReportedEnd(uid: PodUid): boolean {
    const { apiPods, desired } = this.#deps.stores;
    const watched = statusTarget(desired, apiPods, uid);
    if (watched === undefined) return true;
    const object = laterObject(watched, this.#states.get(uid)?.written);
    return isTerminalPhase(object.status?.phase);
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }

  async #push(uid: PodUid, signal: AbortSignal): Promise<void> {
    const work = this.#pending(uid);
    if (work === undefined) return;
    const slot = await this.#slots.acquire(work.urgent ? urgent : ordinary, signal);
    try {
      await this.#send(uid, signal);
    } finally {
      slot.release();
    }
  }

  /** The pending patch or deletion; undefined if there is none. */
  #pending(uid: PodUid) {
    const { clock } = this.#deps;
    const { apiPods, desired, lifecycles, observed, statuses } = this.#deps.stores;
    const watched = statusTarget(desired, apiPods, uid);
    const status = statuses.get(uid);
    if (watched === undefined) this.#states.delete(uid);
    if (watched === undefined || status === undefined) return undefined;
    const state = this.#stateFor(uid);
    const object = laterObject(watched, state.written);
    const lifecycle = lifecycles.get(uid);
    const observation = observed.get(uid);
    const merged = mergePodStatus({
      pod: object,
      api: object.status ?? {},
      status,
      couldHaveRunningContainers: couldHaveRunningContainers(lifecycle, observation),
      nowMs: clock.now(),
    });
    const diff = strategicDiff({ status: object.status ?? {} }, { status: merged }, mergeKeysOfPod);
    const patch = diff === undefined ? undefined : { metadata: { uid: object.metadata?.uid }, ...diff };
    if (patch === undefined) delete state.sinceMs;
    else state.sinceMs ??= clock.monotonic();
    const canDelete =
      state.deleted !== object.metadata?.uid && this.#canBeDeleted(object, lifecycle, observation);
    if (patch === undefined && !canDelete) return undefined;
    const flips = readyOf(object.status) !== readyOf(merged) || isTerminalPhase(merged.phase);
    return { object, merged, patch, canDelete, urgent: flips || canDelete };
  }

  async #send(uid: PodUid, signal: AbortSignal): Promise<void> {
    const { api } = this.#deps;
    const state = this.#stateFor(uid);
    if (state.mustGet) await this.#reread(uid, state, signal);
    // The status may have changed while this run waited for a slot.
    const work = this.#pending(uid);
    if (work?.patch === undefined) {
      if (work !== undefined) await this.#delete(uid, work.object, signal);
      return;
    }
    const text = JSON.stringify(work.patch);
    const waitMs = this.#repeatDelay(state, text);
    if (waitMs > 0) {
      // A field that the server drops does not keep a terminated pod.
      if (work.canDelete) await this.#delete(uid, work.object, signal);
      else this.#queue.addAfter(uid, waitMs);
      return;
    }
    try {
      state.written = await api.patchStatus(work.object, work.patch, signal);
    } catch (err) {
      if (isKind(err, 'not-found')) return;
      state.mustGet = true;
      throw err;
    }
    const nowMs = this.#deps.clock.monotonic();
    this.#deps.observe?.((nowMs - (state.sinceMs ?? nowMs)) / 1000);
    delete state.sinceMs;
    this.#deps.log
      .v(3)
      .info('Pod status sent', { pod: podRef(work.object), podUID: uid, phase: state.written.status?.phase });
    const rest = this.#pending(uid);
    // What is left of an unchanged status was dropped by the server: it counts as sent.
    const isDropped = rest?.patch !== undefined && isDeepStrictEqual(rest.merged, work.merged);
    const sent = isDropped ? JSON.stringify(rest.patch) : text;
    state.patch = { text: sent, atMs: nowMs, times: state.patch?.text === sent ? state.patch.times + 1 : 1 };
    if (rest !== undefined && rest.patch === undefined) await this.#delete(uid, rest.object, signal);
    else if (rest !== undefined) this.#queue.add(uid);
  }

  /** Gets the API object as the new base. A later pod of the same name is not affected: patches carry the UID. */
  async #reread(uid: PodUid, state: PushState, signal: AbortSignal): Promise<void> {
    const { apiPods, desired } = this.#deps.stores;
    const watched = statusTarget(desired, apiPods, uid);
    if (watched === undefined) return;
    try {
      state.written = await this.#deps.api.get(watched, signal);
    } catch (err) {
      if (!isKind(err, 'not-found')) throw err;
    }
    state.mustGet = false;
  }

  async #delete(uid: PodUid, object: Pod, signal: AbortSignal): Promise<void> {
    const { api, log } = this.#deps;
    const state = this.#stateFor(uid);
    try {
      await api.delete(object, signal);
      log.info('Deleted API object of terminated pod', { pod: podRef(object), podUID: uid });
    } catch (err) {
      // Deleted already, or replaced by another pod: the watch reports both.
      if (!isKind(err, 'not-found') && !isKind(err, 'conflict')) throw err;
    }
    if (object.metadata?.uid !== undefined) state.deleted = object.metadata.uid;
  }

  /** Deletion was requested, the API has a terminal phase, and nothing of the pod is left on the node. */
  #canBeDeleted(
    object: Pod,
    lifecycle: PodLifecycle | undefined,
    observation: ObservedPod | undefined,
  ): boolean {
    if (object.metadata?.deletionTimestamp === undefined || isMirrorPod(object)) return false;
    if (!isTerminalPhase(object.status?.phase)) return false;
    if (lifecycle?.state === 'terminated') return lifecycle.cleaned;
    return lifecycle?.state === 'rejected' && isDown(observation);
  }

  /** Milliseconds to wait before this patch may be sent; 0 or less: now. */
  #repeatDelay(state: PushState, text: string): number {
    if (state.patch?.text !== text) return 0;
    const delayMs = Math.min(repeatDelayMs * 2 ** (state.patch.times - 1), maxRepeatDelayMs);
    return state.patch.atMs + delayMs - this.#deps.clock.monotonic();
  }

  #stateFor(uid: PodUid): PushState {
    const existing = this.#states.get(uid);
    if (existing !== undefined) return existing;
    const fresh: PushState = { mustGet: false };
    this.#states.set(uid, fresh);
    return fresh;
  }
}

function readyOf(status: Pod['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
}
