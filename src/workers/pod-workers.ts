// One worker per pod: wakes on its UID, reads what is wanted and what is seen, takes the next step until there is none.
// Upstream: pkg/kubelet/pod_workers.go. Invariants: one run per pod at a time; every run starts from the stores alone, so a
// run that was lost, repeated or cut short changes nothing about the end; a run that is overtaken is cut off.
import type { Pod } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { type Component, on } from '../base/component.ts';
import { Aborted, describeError, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import { activeMsLeft, deadlineExceeded } from './active-deadline.ts';
import { findSameNamePod } from './find-same-name-pod.ts';
import type { Leftover } from './housekeeping.ts';
import { PodKills } from './pod-kills.ts';
import { nameOf, PodSteps } from './pod-steps.ts';
import { computeTransition, type Transition } from './transition.ts';
import type { PodWorkersDeps, WantedPod } from './worker-deps.ts';
import { type WorkerRecord, WorkerRecords } from './worker-records.ts';

/** Far above any node's pods: what limits the runtime's load is the slots, not the workers. */
const parallelRuns = 1000;

/** How long calls in flight may take to finish when the kubelet stops. */
const drainMs = 3_000;

/** Steps that are work, in the words of upstream's metric. */
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
  readonly #kills = new PodKills();
  /** What orphaned pods left on the node, until its removal is done. */
  readonly #leftovers = new Map<PodUid, Leftover>();

  constructor(deps: PodWorkersDeps) {
    const { desired, observed, probes, unfinishedHooks, volumes } = deps.stores;
    this.#deps = deps;
    this.wakes = [
      on(desired.changed, (uid) => this.#overtake(uid)),
      on(desired.ready, () => this.#pokeAll()),
      on(observed.changed, (uid) => this.poke(uid)),
      on(deps.pleg.answered, () => this.#pokeAll()),
      on(probes.changed, (uid) => this.poke(uid)),
      on(unfinishedHooks.changed, (uid) => this.poke(uid)),
      on(volumes.wake, (uid) => this.poke(uid)),
    ];
    this.#records = new WorkerRecords(deps.stores, deps.clock);
    this.#steps = new PodSteps(deps, this.#records, {
      wakeAfter: (uid, ms) => this.#queue.addAfter(uid, ms),
      poke: (uid) => this.poke(uid),
      ended: (uid) => this.#kills.settle(uid),
      leftover: (uid) => this.#leftovers.get(uid),
      forget: (uid) => this.#forget(uid),
    });
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: parallelRuns,
      backoff: { initialMs: 500, maxMs: 10_000 },
      run: async (uid, signal) => await this.#run(uid, signal),
      onError: (uid, err, retryInMs) => this.#onError(uid, err, retryInMs),
    });
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    this.#pokeAll();
    return { stopped: this.#drain(signal) };
  }

  /** Something about this pod may have changed. Cheap, idempotent, safe from anywhere. */
  poke(uid: PodUid): void {
    this.#queue.add(uid);
  }

  /**
   * Ends a pod although its source still wants it: it is reported as Failed with these words and not started again as long as
   * this kubelet lives. Resolves when nothing of it runs any more, at once when there is no such pod.
   */
  async kill(uid: PodUid, kill: PodKill): Promise<void> {
    const { desired, observed } = this.#deps.stores;
    const state = this.#records.get(uid)?.state.state;
    if (state === 'terminated' || state === 'finished' || state === 'rejected') return;
    if (desired.get(uid) === undefined && observed.get(uid) === undefined && state === undefined) return;
    const ended = this.#kills.add(uid, kill);
    this.#overtake(uid);
    await ended;
  }

  /** Removes what an orphaned pod left on the node, with retries. A pod whose UID comes back waits until that is done. */
  removeLeftover(leftover: Leftover): void {
    this.#leftovers.set(leftover.uid, leftover);
    this.poke(leftover.uid);
  }

  /** Whether the removal of this pod's leftovers is still to be done. */
  isRemovingLeftover(uid: PodUid): boolean {
    return this.#leftovers.has(uid);
  }

  /** Whether something is being done for this pod right now; whoever does it looks at the outcome himself. */
  isAtWork(uid: PodUid): boolean {
    return this.#queue.isRunning(uid);
  }

  /** Whether a worker still has something to do with this pod, or could have. */
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
    // What is under way may finish a call that is nearly done; what takes longer is cut off and found again by the next life.
    const cut = this.#deps.clock.setTimer(drainMs, () =>
      this.#queue.abortAll(new Aborted('the kubelet stops')),
    );
    await this.#queue.stop();
    cut.cancel();
    this.#kills.rejectAll(new Aborted('the kubelet stops'));
  }

  #pokeAll(): void {
    const { desired, observed } = this.#deps.stores;
    for (const { uid } of desired.all()) this.poke(uid);
    for (const uid of observed.all().keys()) this.poke(uid);
    for (const uid of this.#records.all().keys()) this.poke(uid);
  }

  /** What is under way for a pod that now has to end, or to end sooner, is not waited for. */
  #overtake(uid: PodUid): void {
    const state = this.#records.get(uid)?.state;
    const { next } = this.#transition(uid);
    if (next.state === 'terminating' || next.state === 'terminated') {
      if (state?.state === 'syncing') this.#queue.cancel(uid, new Aborted('the pod has to end'));
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
    // A runtime that is away is told once, by the relist; the same failure again is no news either.
    const quiet = isKind(err, 'unavailable') || record?.lastFailure === message;
    if (record !== undefined) record.lastFailure = message;
    const fields = {
      pod: nameOf(record, stores.observed.get(uid)),
      podUID: uid,
      retryInMs: Math.round(retryInMs),
      err,
    };
    if (record?.state.state === 'syncing') {
      this.#records.tellSyncing(uid, undefined, `the last sync failed and is tried again: ${message}`);
    }
    if (quiet) report.log.v(2).info('Pod sync failed again', fields);
    else report.log.error('Pod sync failed, will be tried again', fields);
  }

  async #run(uid: PodUid, signal: AbortSignal): Promise<void> {
    if (this.#records.get(uid)?.mustLook === true) await this.#steps.look(uid, signal);
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
      return await this.#steps.take(uid, transition, signal);
    } finally {
      if (operation !== undefined) metrics?.step(operation, (clock.monotonic() - startedMs) / 1_000);
    }
  }

  #transition(uid: PodUid): Transition {
    const { pleg, policy, runtime, stores } = this.#deps;
    const { desired, observed } = stores;
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
      isSeen: pleg.isSeen(uid),
      sourcesReady: desired.sourcesReady(),
      isLeftOver: this.#leftovers.has(uid),
      sameNamePod: wanted === undefined ? undefined : findSameNamePod(wanted, pods),
      refusal: wanted === undefined ? undefined : policy.refusePod(wanted.pod),
      endedForGood: wanted !== undefined && runtime.hasEndedForGood(wanted.pod, seen),
      kill: this.#kills.get(uid) ?? this.#overdue(uid, wanted?.pod),
    });
  }

  #overdue(uid: PodUid, pod: Pod | undefined): PodKill | undefined {
    const left = pod === undefined ? undefined : activeMsLeft(pod, this.#records.activeMs(uid));
    return left !== undefined && left <= 0 ? deadlineExceeded : undefined;
  }

  #forget(uid: PodUid): void {
    this.#records.forget(uid);
    this.#leftovers.delete(uid);
    this.#queue.forget(uid);
    this.#kills.settle(uid);
  }
}

/** A source that drops a pod and brings it again gives it another order. Objects of the API never come back. */
function isRecreated(record: WorkerRecord | undefined, wanted: WantedPod | undefined): boolean {
  if (record?.order === undefined || wanted === undefined || wanted.source === 'api') return false;
  return record.order !== wanted.order;
}

function isSooner(now: number | undefined, before: number | undefined): boolean {
  return now !== undefined && (before === undefined || now < before);
}
