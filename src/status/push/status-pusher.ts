// Brings pod statuses to the API server, and removes a pod's object when nothing of the pod is left. Upstream: syncBatch,
// syncPod and canBeDeleted in pkg/kubelet/status/status_manager.go. A loop keyed by the pod's UID on this node.
// Invariants: what is sent is the latest, so a status that was overtaken is never sent after its successor; only what
// differs from the API's is sent, and with the UID it is meant for; who became ready, or has ended, goes first; an object is
// deleted once, by its UID, after its final status.
import { laterObject } from '../../api/k8s/resource-version.ts';
import { type JsonObject, strategicDiff } from '../../api/k8s/strategic-diff.ts';
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import { isTerminalPhase } from '../../api/pod/active-pod.ts';
import { isDown, type ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef } from '../../api/pod/pod-ref.ts';
import { isMirrorPod } from '../../api/ports/pod-source.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { type Component, on } from '../../base/component.ts';
import { isKind } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import { Slots } from '../../base/slots.ts';
import { staticPodsNamed, statusTarget } from '../mirrors.ts';
import { couldHaveRunningContainers, mergePodStatus } from './merge-status.ts';

interface PodStatusApi {
  get(pod: Pod, signal: AbortSignal): Promise<Pod>;
  /** A strategic merge patch of the status subresource. */
  patchStatus(pod: Pod, patch: JsonObject, signal: AbortSignal): Promise<Pod>;
  /** At once (grace 0), only if it has this UID. */
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
  /** How long a status waited until the API server had it. */
  readonly observe?: (seconds: number) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is remembered of a pod while the API has an object for it. */
interface Sent {
  /** What our last write was answered with; the watch may not have it yet. */
  written?: Pod;
  /** What we know is too old: the API is asked first. */
  mustGet: boolean;
  /** The UID of the object that was deleted; with a finalizer it stays there all the same. */
  deleted?: string;
  /** Since when there is something to send, by the monotonic clock. */
  sinceMs?: number;
  /** The last patch and when it was sent, by the monotonic clock. */
  patch?: { readonly text: string; readonly atMs: number };
}

const mergeKeys = {
  'status.conditions': 'type',
  'status.hostIPs': 'ip',
  'status.podIPs': 'ip',
  'status.resourceClaimStatuses': 'name',
};
const parallelRuns = 1000;
/** As many calls at once: the rest waits here, where the urgent ones can overtake it. */
const parallelCalls = 10;
/** A patch that did not take is sent again, but not in a hurry: a server that alters what it is sent must not cause a storm. */
const samePatchMs = 10_000;
const urgent = 0;
const ordinary = 1;

export class StatusPusher implements Component {
  readonly name = 'status-pusher';
  readonly #deps: StatusPusherDeps;
  readonly #queue: KeyedQueue<PodUid>;
  readonly #slots: Slots;
  readonly #sent = new Map<PodUid, Sent>();

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
        if (isKind(err, 'unavailable')) deps.log.v(2).info('Pod status not sent', fields);
        else deps.log.error('Pod status not sent, will be tried again', fields);
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

  /** The pod's status, its worker's state or its object in the API may have changed. Cheap, idempotent, safe from anywhere. */
  poke(uid: PodUid): void {
    this.#queue.add(uid);
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
    const work = this.#work(uid);
    if (work === undefined) return;
    const slot = await this.#slots.acquire(work.urgent ? urgent : ordinary, signal);
    try {
      await this.#send(uid, signal);
    } finally {
      slot.release();
    }
  }

  /** What there is to do, by what is known now; undefined when that is nothing. */
  #work(uid: PodUid) {
    const { clock } = this.#deps;
    const { apiPods, desired, lifecycles, observed, statuses } = this.#deps.stores;
    const watched = statusTarget(desired, apiPods, uid);
    const status = statuses.get(uid);
    if (watched === undefined) this.#sent.delete(uid);
    if (watched === undefined || status === undefined) return undefined;
    const sent = this.#sentFor(uid);
    const object = laterObject(watched, sent.written);
    const lifecycle = lifecycles.get(uid);
    const seen = observed.get(uid);
    const merged = mergePodStatus({
      pod: object,
      api: object.status ?? {},
      status,
      couldHaveRunningContainers: couldHaveRunningContainers(lifecycle, seen),
      nowMs: clock.now(),
    });
    const diff = strategicDiff({ status: object.status ?? {} }, { status: merged }, mergeKeys);
    const patch = diff === undefined ? undefined : { metadata: { uid: object.metadata?.uid }, ...diff };
    if (patch === undefined) delete sent.sinceMs;
    else sent.sinceMs ??= clock.monotonic();
    const isOver = sent.deleted !== object.metadata?.uid && this.#canBeDeleted(object, lifecycle, seen);
    if (patch === undefined && !isOver) return undefined;
    const flips = readyOf(object.status) !== readyOf(merged) || isTerminalPhase(merged.phase);
    return { object, patch, urgent: flips || isOver };
  }

  async #send(uid: PodUid, signal: AbortSignal): Promise<void> {
    const { api } = this.#deps;
    const sent = this.#sentFor(uid);
    if (sent.mustGet) await this.#reread(uid, sent, signal);
    // While it waited for its turn the status may have moved on.
    const work = this.#work(uid);
    if (work?.patch === undefined) {
      if (work !== undefined) await this.#delete(uid, work.object, signal);
      return;
    }
    const text = JSON.stringify(work.patch);
    const waitMs = this.#repeatedTooSoon(sent, text);
    if (waitMs > 0) {
      this.#queue.addAfter(uid, waitMs);
      return;
    }
    try {
      sent.written = await api.patchStatus(work.object, work.patch, signal);
    } catch (err) {
      if (isKind(err, 'not-found')) return;
      sent.mustGet = true;
      throw err;
    }
    sent.patch = { text, atMs: this.#deps.clock.monotonic() };
    this.#deps.observe?.((sent.patch.atMs - (sent.sinceMs ?? sent.patch.atMs)) / 1000);
    delete sent.sinceMs;
    this.#deps.log
      .v(3)
      .info('Pod status sent', { pod: podRef(work.object), podUID: uid, phase: sent.written.status?.phase });
    const rest = this.#work(uid);
    if (rest !== undefined && rest.patch === undefined) await this.#delete(uid, rest.object, signal);
    else if (rest !== undefined) this.#queue.add(uid);
  }

  /** Takes what the API has now as the base; a pod of the same name that came after this one is none of its business. */
  async #reread(uid: PodUid, sent: Sent, signal: AbortSignal): Promise<void> {
    const { apiPods, desired } = this.#deps.stores;
    const watched = statusTarget(desired, apiPods, uid);
    if (watched === undefined) return;
    try {
      sent.written = await this.#deps.api.get(watched, signal);
    } catch (err) {
      if (!isKind(err, 'not-found')) throw err;
    }
    sent.mustGet = false;
  }

  async #delete(uid: PodUid, object: Pod, signal: AbortSignal): Promise<void> {
    const { api, log } = this.#deps;
    const sent = this.#sentFor(uid);
    try {
      await api.delete(object, signal);
      log.info('Pod fully ended, its object is deleted', { pod: podRef(object), podUID: uid });
    } catch (err) {
      // Gone already, or another pod by now: both are told by the watch.
      if (!isKind(err, 'not-found') && !isKind(err, 'conflict')) throw err;
    }
    if (object.metadata?.uid !== undefined) sent.deleted = object.metadata.uid;
  }

  /** Nothing of it is left on the node, the API says that it has ended, and somebody asked for its deletion. */
  #canBeDeleted(object: Pod, lifecycle: PodLifecycle | undefined, seen: ObservedPod | undefined): boolean {
    if (object.metadata?.deletionTimestamp === undefined || isMirrorPod(object)) return false;
    if (!isTerminalPhase(object.status?.phase)) return false;
    if (lifecycle?.state === 'terminated') return lifecycle.cleaned;
    return lifecycle?.state === 'rejected' && isDown(seen);
  }

  #repeatedTooSoon(sent: Sent, text: string): number {
    if (sent.patch?.text !== text) return 0;
    return sent.patch.atMs + samePatchMs - this.#deps.clock.monotonic();
  }

  #sentFor(uid: PodUid): Sent {
    const known = this.#sent.get(uid);
    if (known !== undefined) return known;
    const fresh: Sent = { mustGet: false };
    this.#sent.set(uid, fresh);
    return fresh;
  }
}

function readyOf(status: Pod['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
}
