// One worker per pod: wakes on its UID, reads what is wanted and what is seen, takes the next step until there is none.
// Upstream: pkg/kubelet/pod_workers.go and syncPod in kubelet.go. Owns PodLifecycles. Invariants: one run per pod at a time;
// every run starts from the stores alone, so a run that was lost, repeated or cut short changes nothing about the end.
import type { Pod } from '../api/k8s.ts';
import type { ObservedPod } from '../api/observed.ts';
import type { PodLifecycle, WaitingReason } from '../api/pod-lifecycle.ts';
import { type PodUid, podFullName, podRef } from '../api/pod-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { Aborted, describeError, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log.ts';
import { untilAborted } from '../base/race-abort.ts';
import { computeStep, type Step, type WorkerState } from './compute-step.ts';
import type { PodLifecycles } from './pod-lifecycles.ts';

interface Subscribable<T> {
  subscribe(listener: (value: T) => void): () => void;
}

export interface WorkerDesired {
  get(uid: PodUid): { readonly pod: Pod; readonly order: number } | undefined;
  all(): readonly { readonly uid: PodUid; readonly pod: Pod; readonly order: number }[];
  sourcesReady(): boolean;
  readonly changed: Subscribable<PodUid>;
  readonly ready: Subscribable<void>;
}

export interface WorkerObserved {
  get(uid: PodUid): ObservedPod | undefined;
  all(): ReadonlyMap<PodUid, ObservedPod>;
  readonly changed: Subscribable<PodUid>;
}

export interface WorkerPleg {
  isSeen(uid: PodUid): boolean;
  poke(uid: PodUid): void;
  refresh(uid: PodUid, signal: AbortSignal): Promise<ObservedPod | undefined>;
  readonly answered: Subscribable<void>;
}

export interface WorkerRuntime {
  sync(
    pod: Pod,
    seen: ObservedPod | undefined,
    order: number,
    signal: AbortSignal,
  ): Promise<{
    readonly acted: boolean;
    readonly waiting: Readonly<Record<string, WaitingReason>>;
    readonly retryInMs: number | undefined;
    readonly failure: unknown;
  }>;
  stopPod(
    pod: Pod | undefined,
    seen: ObservedPod | undefined,
    graceSeconds: number | undefined,
    why: string,
    signal: AbortSignal,
  ): Promise<void>;
  collectGarbage(seen: ObservedPod, signal: AbortSignal): Promise<boolean>;
  removePod(
    pod: { readonly uid: string; readonly namespace: string; readonly name: string },
    seen: ObservedPod | undefined,
    signal: AbortSignal,
  ): Promise<void>;
}

/** What the spec says about a pod, decided elsewhere. */
export interface WorkerPolicy {
  refusePod(pod: Pod): { readonly reason: string; readonly message: string } | undefined;
  hasEndedForGood(pod: Pod, seen: ObservedPod | undefined): boolean;
}

export interface PodWorkersDeps {
  readonly desired: WorkerDesired;
  readonly observed: WorkerObserved;
  readonly pleg: WorkerPleg;
  readonly runtime: WorkerRuntime;
  readonly policy: WorkerPolicy;
  readonly lifecycles: PodLifecycles;
  readonly settings: { readonly syncFrequencyMs: number; readonly drainMs: number };
  readonly clock: Clock;
  readonly log: Logger;
}

interface Worker {
  state: WorkerState;
  readonly startedAtMs: number;
  /** The last spec that was wanted: a pod that has lost its source is ended by it. */
  pod: Pod | undefined;
  lastFailure: string;
}

/** Far above any node's pods: what limits the runtime's load is the slots, not the workers. */
const parallelRuns = 1000;

export class PodWorkers implements Component {
  readonly name = 'pod-workers';
  readonly #deps: PodWorkersDeps;
  readonly #queue: KeyedQueue<PodUid>;
  readonly #workers = new Map<PodUid, Worker>();

  constructor(deps: PodWorkersDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: parallelRuns,
      backoff: { initialMs: 500, maxMs: 10_000 },
      run: async (uid, signal) => await this.#run(uid, signal),
      onError: (uid, err, retryInMs) => this.#onError(uid, err, retryInMs),
    });
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { desired, observed, pleg } = this.#deps;
    const unsubscribe = [
      desired.changed.subscribe((uid) => this.#onDesired(uid)),
      desired.ready.subscribe(() => this.#pokeAll()),
      observed.changed.subscribe((uid) => this.poke(uid)),
      pleg.answered.subscribe(() => this.#pokeAll()),
    ];
    this.#queue.start();
    this.#pokeAll();
    return { stopped: this.#drain(signal, unsubscribe) };
  }

  /** Something about this pod may have changed. Cheap, idempotent, safe from anywhere. */
  poke(uid: PodUid): void {
    this.#queue.add(uid);
  }

  async #drain(signal: AbortSignal, unsubscribe: readonly (() => void)[]): Promise<void> {
    await untilAborted(signal);
    for (const each of unsubscribe) each();
    // What is under way may finish a call that is nearly done; what takes longer is cut off and found again by the next life.
    const cut = this.#deps.clock.setTimer(this.#deps.settings.drainMs, () =>
      this.#queue.abortAll(new Aborted('the kubelet stops')),
    );
    await this.#queue.stop();
    cut.cancel();
  }

  #pokeAll(): void {
    const { desired, observed } = this.#deps;
    for (const { uid } of desired.all()) this.poke(uid);
    for (const uid of observed.all().keys()) this.poke(uid);
    for (const uid of this.#workers.keys()) this.poke(uid);
  }

  #onDesired(uid: PodUid): void {
    const gone = this.#deps.desired.get(uid) === undefined;
    // A pod that is wanted no more does not wait for its image or its turn.
    if (gone && this.#workers.get(uid)?.state.state === 'syncing') {
      this.#queue.cancel(uid, new Aborted('the pod was removed'));
    }
    this.poke(uid);
  }

  #onError(uid: PodUid, err: unknown, retryInMs: number): void {
    const { log, observed } = this.#deps;
    const worker = this.#workers.get(uid);
    const message = describeError(err);
    // A runtime that is away is told once, by the relist; the same failure again is no news either.
    const quiet = isKind(err, 'unavailable') || worker?.lastFailure === message;
    if (worker !== undefined) worker.lastFailure = message;
    const fields = {
      pod: nameOf(worker?.pod, observed.get(uid)),
      podUID: uid,
      retryInMs: Math.round(retryInMs),
      err,
    };
    if (quiet) log.v(2).info('Pod sync failed again', fields);
    else log.error('Pod sync failed, will be tried again', fields);
  }

  async #run(uid: PodUid, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const step = this.#nextStep(uid);
      const again = await this.#take(uid, step, signal);
      if (!again) return;
    }
  }

  #nextStep(uid: PodUid): Step {
    const { desired, observed, pleg, policy } = this.#deps;
    const wanted = desired.get(uid);
    const seen = observed.get(uid);
    const worker = this.#workers.get(uid);
    if (worker !== undefined && wanted !== undefined) worker.pod = wanted.pod;
    return computeStep({
      worker: worker?.state ?? { state: 'new' },
      desired: wanted?.pod,
      seen,
      isSeen: pleg.isSeen(uid),
      sourcesReady: desired.sourcesReady(),
      rival: wanted === undefined ? undefined : this.#rivalOf(uid, wanted.pod, wanted.order),
      refusal: wanted === undefined ? undefined : policy.refusePod(wanted.pod),
      endedForGood: wanted !== undefined && policy.hasEndedForGood(wanted.pod, seen),
    });
  }

  /** Another pod of this name that is still on the runtime, or was wanted first. */
  #rivalOf(uid: PodUid, pod: Pod, order: number): string | undefined {
    const { desired, observed } = this.#deps;
    const fullName = podFullName(pod);
    const earlier = desired
      .all()
      .find((other) => other.uid !== uid && other.order < order && podFullName(other.pod) === fullName);
    if (earlier !== undefined) return earlier.uid;
    for (const other of observed.all().values()) {
      if (
        other.uid !== uid &&
        desired.get(other.uid) === undefined &&
        podFullName({ metadata: other }) === fullName
      ) {
        return other.uid;
      }
    }
    return undefined;
  }

  /** Carries one step out; true when the next one should be looked for at once. */
  async #take(uid: PodUid, step: Step, signal: AbortSignal): Promise<boolean> {
    switch (step.step) {
      case 'wait':
        this.#publishSyncing(uid, {}, step.explain);
        return false;
      case 'reject':
        return this.#reject(uid, step);
      case 'sync':
        return await this.#sync(uid, signal);
      case 'terminate':
        return await this.#terminate(uid, step, signal);
      case 'finish':
        this.#enter(uid, { state: 'terminated' });
        this.#publish(uid, { state: 'terminated', atMs: this.#deps.clock.now() });
        return false;
      case 'remove':
        return await this.#remove(uid, signal);
      case 'rest':
        await this.#collect(uid, signal);
        return false;
      case 'forget':
        this.#forget(uid);
        return false;
    }
  }

  #reject(uid: PodUid, refusal: { readonly reason: string; readonly message: string }): boolean {
    const worker = this.#enter(uid, { state: 'rejected' });
    this.#publish(uid, { state: 'rejected', reason: refusal.reason, message: refusal.message });
    const pod = nameOf(worker.pod, undefined);
    this.#deps.log.error('Pod rejected', {
      pod,
      podUID: uid,
      reason: refusal.reason,
      message: refusal.message,
    });
    return false;
  }

  async #sync(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { desired, observed, runtime, settings } = this.#deps;
    const wanted = desired.get(uid);
    if (wanted === undefined) return true;
    const worker = this.#enter(uid, { state: 'syncing' });
    this.#publishSyncing(uid, this.#waitingOf(uid), 'bringing the runtime to the spec');
    const result = await runtime
      .sync(wanted.pod, observed.get(uid), wanted.order, signal)
      .catch((err: unknown) => this.#lookAfterFailure(uid, err, signal));
    this.#publishSyncing(uid, result.waiting, explainWaiting(result.waiting));
    if (result.acted) await this.#look(uid, signal);
    if (result.failure !== undefined) throw result.failure;
    worker.lastFailure = '';
    await this.#collect(uid, signal);
    this.#queue.addAfter(
      uid,
      Math.min(result.retryInMs ?? Number.POSITIVE_INFINITY, settings.syncFrequencyMs),
    );
    return false;
  }

  async #terminate(
    uid: PodUid,
    step: Extract<Step, { step: 'terminate' }>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, observed, runtime } = this.#deps;
    const seen = observed.get(uid);
    const worker = this.#enter(uid, { state: 'terminating', removal: step.removal });
    const graceSeconds = worker.pod?.spec?.terminationGracePeriodSeconds ?? 0;
    this.#publish(uid, {
      state: 'terminating',
      graceSeconds,
      sinceMs: clock.now(),
      why: step.why,
      explain: `ending: ${step.why}`,
    });
    await runtime.stopPod(worker.pod, seen, undefined, step.why, signal);
    await this.#look(uid, signal);
    return true;
  }

  async #remove(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { desired, log, observed, pleg, runtime } = this.#deps;
    const worker = this.#workers.get(uid);
    const seen = observed.get(uid);
    const namespace = worker?.pod?.metadata?.namespace ?? seen?.namespace ?? '';
    const name = worker?.pod?.metadata?.name ?? seen?.name ?? '';
    await runtime.removePod({ uid, namespace, name }, seen, signal);
    await pleg.refresh(uid, signal);
    this.#forget(uid);
    log.info('Pod removed', { pod: podRef({ metadata: { namespace, name } }), podUID: uid });
    // Whoever waited for this name may start now, even this very pod if it came back.
    const fullName = podFullName({ metadata: { namespace, name } });
    for (const other of desired.all()) if (podFullName(other.pod) === fullName) this.poke(other.uid);
    return false;
  }

  #forget(uid: PodUid): void {
    this.#workers.delete(uid);
    this.#deps.lifecycles.delete(uid);
    this.#queue.forget(uid);
  }

  async #collect(uid: PodUid, signal: AbortSignal): Promise<void> {
    const seen = this.#deps.observed.get(uid);
    if (seen === undefined) return;
    if (await this.#deps.runtime.collectGarbage(seen, signal)) await this.#look(uid, signal);
  }

  /** Sees the outcome of our own action at once; if that fails, the relist will. */
  async #look(uid: PodUid, signal: AbortSignal): Promise<void> {
    await this.#deps.pleg.refresh(uid, signal);
  }

  /** A pass that failed may have acted before: the next one has to see it, or it would do the same again. */
  async #lookAfterFailure(uid: PodUid, err: unknown, signal: AbortSignal): Promise<never> {
    await this.#look(uid, signal).catch(() => undefined);
    throw err;
  }

  #enter(uid: PodUid, state: WorkerState): Worker {
    const worker = this.#workers.get(uid) ?? {
      state,
      startedAtMs: this.#startedAt(uid),
      pod: this.#deps.desired.get(uid)?.pod,
      lastFailure: '',
    };
    worker.state = state;
    this.#workers.set(uid, worker);
    return worker;
  }

  /** A pod that an earlier life started keeps its start time: that of its first sandbox. */
  #startedAt(uid: PodUid): number {
    const sandboxes = this.#deps.observed.get(uid)?.sandboxes ?? [];
    return Math.min(this.#deps.clock.now(), ...sandboxes.map((sandbox) => sandbox.createdAtMs));
  }

  #waitingOf(uid: PodUid): Readonly<Record<string, WaitingReason>> {
    const before = this.#deps.lifecycles.get(uid);
    return before?.state === 'syncing' ? before.waiting : {};
  }

  #publishSyncing(uid: PodUid, waiting: Readonly<Record<string, WaitingReason>>, explain: string): void {
    if (this.#deps.desired.get(uid) === undefined) return;
    const before = this.#deps.lifecycles.get(uid);
    const same = before?.state === 'syncing' && before.explain === explain;
    const explainSinceMs = same ? before.explainSinceMs : this.#deps.clock.now();
    this.#publish(uid, { state: 'syncing', waiting, explain, explainSinceMs });
  }

  #publish(uid: PodUid, lifecycle: DistributiveOmit<PodLifecycle, 'startedAtMs'>): void {
    const before = this.#deps.lifecycles.get(uid);
    const startedAtMs = this.#workers.get(uid)?.startedAtMs ?? before?.startedAtMs ?? this.#deps.clock.now();
    this.#deps.lifecycles.put(uid, { ...lifecycle, startedAtMs });
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function explainWaiting(waiting: Readonly<Record<string, WaitingReason>>): string {
  const parts = Object.entries(waiting).map(
    ([name, { reason, message }]) => `container ${name}: ${reason}: ${message}`,
  );
  return parts.length === 0 ? 'running as its spec asks' : parts.join('; ');
}

function nameOf(pod: Pod | undefined, seen: ObservedPod | undefined): string {
  return podRef(pod ?? { metadata: { namespace: seen?.namespace ?? '', name: seen?.name ?? '' } });
}
