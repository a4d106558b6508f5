// Obtains and renews the certificates of this node's pods. Sole writer of PodCredentials and PodCertificateRequests.
// Upstream: IssuingManager in pkg/kubelet/podcertificate. Invariants: one run per podCertificate source at a time; a pod that has
// ended or is gone has no credentials, and no request is created for it; a node whose pods need none watches no requests.
import type { Pod, PodCertificateRequest } from '../api/k8s/types.ts';
import { isActivePod } from '../api/pod/active-pod.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef } from '../api/pod/pod-ref.ts';
import type { Follow } from '../api/ports/api-client.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { describeError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { computeStep } from './compute-step.ts';
import { jitterMs, type RequestCreator } from './create-request.ts';
import { type CredentialState, initialState, type PendingRequest, pendingOf } from './credential-state.ts';
import type { NodeRequests } from './node-requests.ts';
import type { PodCredentials } from './pod-credentials.ts';
import { type Projection, type ProjectionKey, projectionsOf, uidOfKey } from './projections.ts';

interface PodsView {
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod } | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
}

interface PodCertificatesDeps {
  readonly pods: PodsView;
  readonly credentials: PodCredentials;
  readonly requests: NodeRequests;
  readonly watch: { readonly follow: Follow; readonly nodeName: string };
  readonly creator: Pick<RequestCreator, 'create'>;
  readonly events: EventSink;
  readonly time: {
    readonly clock: Clock;
    /** In [0, 1). */
    readonly random: () => number;
  };
  readonly log: Logger;
}

const path = '/apis/certificates.k8s.io/v1/podcertificaterequests';
/** Enough for all pods of a node: a run that waits for an RSA key or for the API server must not delay others. */
const parallelRequests = 256;
const backoff = { initialMs: 100, maxMs: 60_000, jitter: 0.5 };
/** The times in certificates are those of the wall clock: after a step of it, a renewal is late by this at most. */
const longestSleepMs = 120_000;

interface Failure {
  readonly sinceMs: number;
  readonly text: string;
}

export class PodCertificateManager implements Component {
  readonly name = 'pod-certificates';
  readonly #deps: PodCertificatesDeps;
  readonly #queue: KeyedQueue<ProjectionKey>;
  /** Why no request could be created. */
  readonly #failures = new Map<ProjectionKey, Failure>();
  #stopSignal: AbortSignal | undefined;
  #following: Promise<void> | undefined;

  constructor(deps: PodCertificatesDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue({
      ...deps.time,
      parallel: parallelRequests,
      run: (key, signal) => this.#run(key, signal),
      backoff,
      onError: (key, err, retryInMs) => this.#failed(key, err, retryInMs),
    });
  }

  get wakes() {
    const { pods, requests } = this.#deps;
    return [
      on(pods.desired.changed, (uid) => this.#podChanged(uid)),
      on(pods.lifecycles.changed, (uid) => this.#lifecycleChanged(uid)),
      on(requests.changed, (uid) => this.#poke(uid)),
    ];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#stopSignal = signal;
    this.#queue.start();
    return Promise.resolve({ stopped: this.#drain(signal) });
  }

  /** What the pod's volumes wait for, for /explain. */
  activities(uid: PodUid): readonly PodActivity[] {
    const pod = this.#activePod(uid);
    return (pod === undefined ? [] : projectionsOf(pod)).flatMap((projection) => this.#activity(projection));
  }

  #activity({ key, source, volume }: Projection): readonly PodActivity[] {
    const state = this.#deps.credentials.get(key);
    const failure = this.#failures.get(key);
    const what = `certificate of volume ${volume}`;
    if (failure !== undefined)
      return [{ what: `${what} could not be requested: ${failure.text}`, sinceMs: failure.sinceMs }];
    if (state?.is !== 'waiting') return [];
    const { createdAtMs: sinceMs, name, namespace } = state.pending;
    const request = `PodCertificateRequest ${namespace}/${name}`;
    return [{ what: `${what} is awaited: ${source.signerName} has not signed ${request}`, sinceMs }];
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
    await this.#following;
  }

  #podChanged(uid: PodUid): void {
    if (this.#activePod(uid) === undefined) this.#forget(uid);
    else this.#poke(uid);
  }

  #lifecycleChanged(uid: PodUid): void {
    if (this.#activePod(uid) === undefined) this.#forget(uid);
  }

  #poke(uid: PodUid): void {
    const pod = this.#activePod(uid);
    const projections = pod === undefined ? [] : projectionsOf(pod);
    if (projections.length > 0) this.#followRequests();
    for (const { key } of projections) this.#queue.addUnlessBackingOff(key);
  }

  // differs from upstream: a pod that has ended needs no certificate any more. Upstream renews until its object is deleted.
  #activePod(uid: PodUid): Pod | undefined {
    const { desired, lifecycles } = this.#deps.pods;
    const pod = desired.get(uid)?.pod;
    return pod !== undefined && isActivePod(pod, lifecycles.get(uid)) ? pod : undefined;
  }

  #find(key: ProjectionKey): Projection | undefined {
    const pod = this.#activePod(uidOfKey(key));
    return pod && projectionsOf(pod).find((each) => each.key === key);
  }

  #forget(uid: PodUid): void {
    const { credentials, requests } = this.#deps;
    const keys = [...credentials.ofPod(uid).keys()];
    if (keys.length === 0) return;
    credentials.delete(uid);
    requests.forgetPod(uid);
    for (const key of keys) {
      this.#failures.delete(key);
      this.#queue.forget(key);
      this.#queue.cancel(key);
    }
  }

  /** From the first pod on that needs a certificate. */
  #followRequests(): void {
    const signal = this.#stopSignal;
    if (this.#following !== undefined || signal === undefined) return;
    const { requests, watch } = this.#deps;
    const target = { path, fieldSelector: `spec.nodeName=${watch.nodeName}` };
    this.#following = watch.follow<PodCertificateRequest>(target, requests, signal);
  }

  async #run(key: ProjectionKey, signal: AbortSignal): Promise<void> {
    const { creator, credentials, events, requests, time } = this.#deps;
    const projection = this.#find(key);
    if (projection === undefined) return;
    const before = credentials.get(key) ?? initialState;
    const pending = pendingOf(before);
    const step = computeStep({
      state: before,
      request: pending && requests.get(pending.namespace, pending.name),
      nowMs: time.clock.now(),
      jitterMs: jitterMs(time.random),
    });
    credentials.set(key, step.state);
    for (const event of step.events) events.pod(projection.pod, event);
    this.#logStep(projection, before, step.state);
    if (!step.create) return this.#wakeAt(key, step.wakeAtMs);
    const created = await creator.create(projection, signal);
    // The pod may have gone meanwhile. Its request goes with it, by its owner reference.
    if (this.#find(key) === undefined) return;
    this.#failures.delete(key);
    credentials.set(key, withPending(credentials.get(key) ?? initialState, created));
    // The watch may have been faster than the response.
    this.#queue.add(key);
  }

  #wakeAt(key: ProjectionKey, wakeAtMs: number): void {
    if (wakeAtMs === Number.POSITIVE_INFINITY) return;
    const leftMs = wakeAtMs - this.#deps.time.clock.now();
    this.#queue.addAfter(key, Math.min(Math.max(leftMs, 1), longestSleepMs));
  }

  #failed(key: ProjectionKey, err: unknown, retryInMs: number): void {
    const { log, time } = this.#deps;
    const projection = this.#find(key);
    if (projection === undefined) return;
    const sinceMs = this.#failures.get(key)?.sinceMs ?? time.clock.now();
    this.#failures.set(key, { sinceMs, text: describeError(err) });
    const { pod, source, volume } = projection;
    log.warn('Failed to request a pod certificate', {
      pod: podRef(pod),
      volume,
      signer: source.signerName,
      retryInMs,
      err,
    });
  }

  #logStep({ pod, volume }: Projection, before: CredentialState, after: CredentialState): void {
    if (before.is === after.is && pendingOf(before) === pendingOf(after)) return;
    const request = pendingOf(before)?.name;
    const details = { pod: podRef(pod), volume, request, state: after.is };
    this.#deps.log.v(4).info('Pod certificate changed its state', details);
  }
}

function withPending(state: CredentialState, pending: PendingRequest): CredentialState {
  return state.is === 'issued' ? { ...state, pending } : { is: 'waiting', pending };
}
