// One worker per pod: wakes on its UID, reads the desired and the observed pod, and runs steps until none follows.
// Upstream: pkg/kubelet/pod_workers.go. Invariants: one run per pod at a time; every run starts from the stores alone, so a
// lost, repeated or cancelled run does not change the final state; a run that is superseded is cancelled.
import type { Pod } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { CollectionCause } from '../api/ports/garbage-scope.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { Aborted, describeError, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import { inSpan, type Span } from '../base/tracer.ts';
import { activeMsLeft, deadlineExceeded } from './active-deadline.ts';
import { CollectionRequests } from './collection-requests.ts';
import { findSameNamePod } from './find-same-name-pod.ts';
import type { Leftover } from './housekeeping.ts';
import { podSpan } from './pod-spans.ts';
import { nameOf, PodSteps } from './pod-steps.ts';
import { computeTransition, type Transition } from './transition.ts';
import type { DesiredPod, PodWorkersDeps } from './worker-deps.ts';
import { type WorkerRecord, WorkerRecords } from './worker-records.ts';

/** More than any node has pods: the start slots bound the load of the runtime, not the workers. */
const parallelRuns = 1000;

/** How long calls in flight may take to finish when the kubelet stops. */
const drainMs = 3_000;

/** Steps that count as work, with the operation type of upstream's metric. */
const operations: Readonly<Partial<Record<Transition['step']['step'], string>>> = {
  sync: 'sync',
  stop: 'kill',
  clean: 'terminated',
  remove: 'terminated',
  restart: 'terminated',
};

export class PodWorkers implements Component {
  readonly name = 'pod-workers';
  readonly wakes;
  readonly #deps: PodWorkersDeps;
  readonly #queue: KeyedQueue<PodUid>;
  readonly #records: WorkerRecords;
  readonly #steps: PodSteps;
  /** What orphaned pods left on the node, until its removal is done. */
  readonly #leftovers = new Map<PodUid, Leftover>();
  readonly #collections = new CollectionRequests();

  constructor(deps: PodWorkersDeps) {
    const { desired, devices, inSync, kills, observed, probes, unfinishedHooks, volumes } = deps.stores;
    this.#deps = deps;
    this.wakes = [
      on(desired.changed, (uid) => this.#supersede(uid)),
      on(desired.ready, () => this.pokeAll()),
      on(observed.changed, (uid) => this.poke(uid)),
      on(deps.pleg.answered, () => this.pokeAll()),
      on(probes.changed, (uid) => this.poke(uid)),
      on(unfinishedHooks.changed, (uid) => this.poke(uid)),
      on(volumes.wake, (uid) => this.poke(uid)),
      on(devices.wake, (uid) => this.poke(uid)),
      on(kills.changed, (uid) => this.#killRequested(uid)),
    ];
    this.#records = new WorkerRecords(deps.stores, deps.clock);
    this.#steps = new PodSteps(deps, this.#records, {
      wakeAfter: (uid, ms) => this.#queue.addAfter(uid, ms),
      poke: (uid) => this.poke(uid),
      terminated: (uid) => kills.settle(uid),
      leftover: (uid) => this.#leftovers.get(uid),
      forget: (uid) => this.#forget(uid),
    });
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: parallelRuns,
      backoff: { initialMs: 500, maxMs: 10_000 },
      run: (uid, signal) => inSync.during(uid, () => this.#run(uid, signal)),
      onError: (uid, err, retryInMs) => this.#onError(uid, err, retryInMs),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    this.pokeAll();
    return { stopped: this.#drain(signal) };
  }

  /** Something about this pod may have changed. Cheap, idempotent, safe from anywhere. */
  poke(uid: PodUid): void {
    this.#queue.add(uid);
  }

  /** Removes what an orphaned pod left on the node, with retries. A pod that is added again under this UID waits for it. */
  removeLeftover(leftover: Leftover): void {
    this.#leftovers.set(leftover.uid, leftover);
    this.poke(leftover.uid);
  }

  /** Whether the removal of this pod's leftovers is still to be done. */
  isRemovingLeftover(uid: PodUid): boolean {
    return this.#leftovers.has(uid);
  }

  /** Has the workers of all pods with garbage, or of `only` those, remove it, beside their regular syncs. Settles per pod. */
  collectGarbage(cause: CollectionCause, only?: ReadonlySet<PodUid>): ReadonlyMap<PodUid, Promise<void>> {
    const { pleg, report, runtime } = this.#deps;
    const inTrace = report.tracer?.capture();
    const pods = runtime
      .podsWithGarbage(this.#steps.garbage.scopeOf(cause))
      .filter((uid) => pleg.isInspected(uid) && only?.has(uid) !== false);
    const requested = new Map(pods.map((uid) => [uid, this.#collections.add(uid, cause, inTrace)]));
    for (const uid of pods) this.poke(uid);
    return requested;
  }

  /** Whether the pod has a worker, or is in a store that would give it one. */
  knows(uid: PodUid): boolean {
    const { desired, observed } = this.#deps.stores;
    return (
      this.#records.get(uid) !== undefined ||
      desired.get(uid) !== undefined ||
      observed.get(uid) !== undefined
    );
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    // Calls in flight may finish. Those that take longer are cancelled; the next process finds their outcome on the runtime.
    const cut = this.#deps.clock.setTimer(drainMs, () =>
      this.#queue.abortAll(new Aborted('the kubelet stops')),
    );
    await this.#queue.stop();
    cut.cancel();
    this.#deps.stores.kills.rejectAll(new Aborted('the kubelet stops'));
    this.#collections.rejectAll(new Aborted('the kubelet stops'));
  }

  pokeAll(): void {
    const { desired, observed } = this.#deps.stores;
    for (const { uid } of desired.all()) this.poke(uid);
    for (const uid of observed.all().keys()) this.poke(uid);
    for (const uid of this.#records.all().keys()) this.poke(uid);
  }

  #killRequested(uid: PodUid): void {
    const { kills } = this.#deps.stores;
    const state = this.#records.get(uid)?.state.state;
    const isOver = state === 'terminated' || state === 'finished' || state === 'rejected';
    if (isOver || !this.knows(uid)) kills.settle(uid);
    else this.#supersede(uid);
  }

  /** Cancels the run in progress if the pod has to terminate now, or sooner than before. */
  #supersede(uid: PodUid): void {
    const state = this.#records.get(uid)?.state;
    const { next } = this.#transition(uid);
    if (next.state === 'terminating' || next.state === 'terminated') {
      if (state?.state === 'syncing') this.#queue.cancel(uid, new Aborted('the pod has to terminate'));
      if (state?.state === 'terminating' && isSooner(next.graceSeconds, state.graceSeconds)) {
        this.#queue.cancel(uid, new Aborted('the grace period was shortened'));
      }
    }
    this.poke(uid);
  }

  #onError(uid: PodUid, err: unknown, retryInMs: number): void {
    const { report, stores } = this.#deps;
    const record = this.#records.get(uid);
    const message = describeError(err);
    // An unavailable runtime is logged once, by the relist. A repeated failure is not logged again either.
    const quiet = isKind(err, 'unavailable') || record?.lastFailure === message;
    if (record !== undefined) record.lastFailure = message;
    const fields = {
      pod: nameOf(record, stores.observed.get(uid)),
      podUID: uid,
      retryInMs: Math.round(retryInMs),
      err,
    };
    if (record?.state.state === 'syncing') {
      this.#records.reportSyncing(uid, undefined, `the last sync failed and will be retried: ${message}`);
    }
    if (quiet) report.log.v(2).info('Failed to sync pod again', fields);
    else report.log.error('Failed to sync pod, will retry', fields);
  }

  async #run(uid: PodUid, signal: AbortSignal): Promise<void> {
    await this.#steps.inspectIfDue(uid, signal);
    await this.#collections.serve(uid, (cause) => this.#steps.garbage.collect(uid, cause, signal));
    await this.#steps.inspectIfDue(uid, signal);
    for (;;) {
      signal.throwIfAborted();
      const again = await this.#timed(uid, this.#transition(uid), signal);
      if (!again) return;
    }
  }

  async #timed(uid: PodUid, transition: Transition, signal: AbortSignal): Promise<boolean> {
    const { clock, report, stores } = this.#deps;
    const { metrics } = report;
    const isNew = this.#records.get(uid) === undefined;
    const operation = isNew && transition.step.step === 'sync' ? 'create' : operations[transition.step.step];
    if (isNew && operation === 'kill' && stores.desired.get(uid) === undefined) metrics?.orphan();
    const startedMs = clock.monotonic();
    try {
      const work = (span?: Span): Promise<boolean> => this.#steps.run(uid, transition, signal, span);
      const span = report.tracer && podSpan(transition.step.step, uid, this.#identity(uid), operation);
      return await (span === undefined ? work() : inSpan(report.tracer, span, work));
    } finally {
      if (operation !== undefined) metrics?.step(operation, (clock.monotonic() - startedMs) / 1_000);
    }
  }

  #identity(uid: PodUid): { readonly namespace?: string; readonly name?: string } {
    const { desired, observed } = this.#deps.stores;
    const pod = this.#records.get(uid)?.pod ?? desired.get(uid)?.pod;
    return pod?.metadata ?? observed.get(uid) ?? {};
  }

  #transition(uid: PodUid): Transition {
    const { pleg, policy, runtime, stores } = this.#deps;
    const { desired, kills, observed } = stores;
    const wanted = desired.get(uid);
    const seen = observed.get(uid);
    const record = this.#records.get(uid);
    if (record !== undefined && wanted !== undefined) record.pod = wanted.pod;
    const pods = { desired, observed, records: this.#records };
    return computeTransition({
      worker: record?.state ?? { state: 'new' },
      desired: wanted?.pod,
      isRecreated: isRecreated(record, wanted),
      lastPod: record?.pod,
      seen,
      isInspected: pleg.isInspected(uid),
      sourcesReady: desired.sourcesReady(),
      isLeftover: this.#leftovers.has(uid),
      sameNamePod: wanted === undefined ? undefined : findSameNamePod(wanted, pods),
      refusal: wanted === undefined ? undefined : policy.refusePod(wanted.pod),
      isTerminal: wanted !== undefined && runtime.isPodTerminal(wanted.pod, seen),
      kill: kills.get(uid) ?? this.#exceededDeadline(uid, wanted?.pod),
    });
  }

  #exceededDeadline(uid: PodUid, pod: Pod | undefined): PodKill | undefined {
    const leftMs = pod === undefined ? undefined : activeMsLeft(pod, this.#records.activeMs(uid));
    return leftMs !== undefined && leftMs <= 0 ? deadlineExceeded : undefined;
  }

  #forget(uid: PodUid): void {
    this.#records.forget(uid);
    this.#leftovers.delete(uid);
    this.#collections.settle(uid);
    this.#queue.forget(uid);
    this.#deps.stores.kills.settle(uid);
  }
}

/** A source that removes a pod and adds it again gives it another order. A deleted API object never reappears under its UID. */
function isRecreated(record: WorkerRecord | undefined, wanted: DesiredPod | undefined): boolean {
  if (record?.order === undefined || wanted === undefined || wanted.source === 'api') return false;
  return record.order !== wanted.order;
}

function isSooner(now: number | undefined, before: number | undefined): boolean {
  return now !== undefined && (before === undefined || now < before);
}
