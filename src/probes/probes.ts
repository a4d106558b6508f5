// The probes of every pod on the node: one worker per probe, for the pod's lifetime. Upstream: pkg/kubelet/prober.
// Owns ProbeResults (sole writer). Invariants: a probe that hangs blocks only its own worker; a removed pod leaves no timer, no
// connection and no result; a kubelet restart changes a result only if a probe changes it.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { hasEnded } from '../api/pod/active-pod.ts';
import { findMirror } from '../api/pod/mirrors.ts';
import { latestContainer, type ObservedPod } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podFullName } from '../api/pod/pod-ref.ts';
import { isStaticPod } from '../api/ports/pod-source.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { type Component, on } from '../base/component.ts';
import { probesOf } from './probe-spec.ts';
import { ProbeWorker, type ProbeWorkerDeps } from './probe-worker.ts';

export interface ProbesDeps {
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod } | undefined;
    all(): readonly { readonly uid: PodUid }[];
    readonly changed: Subscribable<PodUid>;
  };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined; readonly changed: Subscribable<PodUid> };
  readonly lifecycles: { get(uid: PodUid): PodLifecycle | undefined; readonly changed: Subscribable<PodUid> };
  /** Mirror pods carry the readiness that an earlier kubelet reported for static pods. */
  readonly apiPods: {
    mirror(fullName: string): Pod | undefined;
    readonly mirrorChanged: Subscribable<string>;
  };
  readonly worker: ProbeWorkerDeps;
  readonly clock: Clock;
}

interface ProbedPod {
  /** The last spec; a terminating pod may be gone from its source. */
  pod: Pod;
  /** Keyed by container and kind. */
  readonly workers: Map<string, ProbeWorker>;
}

/** Once the runtime has reported pods for this long, results of the previous run that no probe claimed are obsolete. */
const unclaimedMs = 10 * 60_000;

export class Probes implements Component {
  readonly name = 'probes';
  readonly wakes;
  readonly #deps: ProbesDeps;
  readonly #pods = new Map<PodUid, ProbedPod>();
  #kubeletStartedAtMs = 0;
  #unclaimedTimer: Timer | undefined;
  /** False until the results of the previous run are loaded, and again once the component stops. */
  #isSyncing = false;

  constructor(deps: ProbesDeps) {
    this.#deps = deps;
    const { apiPods, desired, lifecycles, observed, worker } = deps;
    this.wakes = [
      on(desired.changed, (uid) => this.#sync(uid)),
      on(lifecycles.changed, (uid) => this.#sync(uid)),
      on(worker.results.changed, (uid) => this.#sync(uid)),
      on(observed.changed, (uid) => this.#observe(uid)),
      // Subscribed before the status loop, which reports a static pod as soon as its mirror pod appears.
      on(apiPods.mirrorChanged, (fullName) => this.#syncNamed(fullName)),
    ];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { clock, desired, worker } = this.#deps;
    this.#kubeletStartedAtMs = clock.now();
    await worker.checkpoint.load(signal);
    this.#isSyncing = true;
    for (const { uid } of desired.all()) this.#sync(uid);
    return { stopped: this.#untilStopped(signal) };
  }

  async #untilStopped(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#isSyncing = false;
    this.#unclaimedTimer?.cancel();
    const workers = [...this.#pods.values()].flatMap((pod) => [...pod.workers.values()]);
    await Promise.all(workers.map((each) => each.stop()));
    await this.#deps.worker.checkpoint.idle();
  }

  /** The number of probes. */
  get size(): number {
    return [...this.#pods.values()].reduce((sum, { workers }) => sum + workers.size, 0);
  }

  #observe(uid: PodUid): void {
    if (!this.#isSyncing) return;
    const { clock, worker } = this.#deps;
    this.#unclaimedTimer ??= clock.setTimer(unclaimedMs, () => worker.checkpoint.dropUnclaimed());
    this.#sync(uid);
  }

  #syncNamed(fullName: string): void {
    for (const [uid, { pod }] of this.#pods)
      if (isStaticPod(pod) && podFullName(pod) === fullName) this.#sync(uid);
  }

  /** Creates and removes the pod's workers after its spec and passes each its container. In memory only, never blocks. */
  #sync(uid: PodUid): void {
    if (!this.#isSyncing) return;
    const { desired, lifecycles, observed, worker: deps } = this.#deps;
    const known = this.#pods.get(uid);
    const lifecycle = lifecycles.get(uid);
    const pod = desired.get(uid)?.pod ?? (lifecycle === undefined ? undefined : known?.pod);
    if (pod === undefined || hasEnded(lifecycle)) {
      this.#drop(uid, known);
      return;
    }
    const specs = new Map(probesOf(pod).map((spec) => [`${spec.container.name}/${spec.kind}`, spec]));
    if (known === undefined && specs.size === 0) return;
    const probed: ProbedPod = known ?? { pod, workers: new Map() };
    probed.pod = pod;
    this.#pods.set(uid, probed);
    for (const [key, worker] of probed.workers) {
      if (specs.has(key)) continue;
      worker.close();
      probed.workers.delete(key);
    }
    const isTerminating = lifecycle?.state === 'terminating' || pod.metadata?.deletionTimestamp !== undefined;
    const observedPod = observed.get(uid);
    const reported = this.#reportedStatus(pod);
    for (const [key, spec] of specs) {
      const container = latestContainer(observedPod, spec.container.name);
      const view = { pod, spec, observed: container, reported, isTerminating };
      const worker = probed.workers.get(key) ?? new ProbeWorker(deps, this.#kubeletStartedAtMs, view);
      probed.workers.set(key, worker);
      worker.sync(view);
    }
  }

  /** The pod's status in the API, which a static pod has in its mirror pod. */
  #reportedStatus(pod: Pod): PodStatus | undefined {
    return isStaticPod(pod) ? findMirror(this.#deps.apiPods, pod)?.status : pod.status;
  }

  #drop(uid: PodUid, known: ProbedPod | undefined): void {
    if (known === undefined) return;
    this.#pods.delete(uid);
    for (const worker of known.workers.values()) worker.close();
  }
}
