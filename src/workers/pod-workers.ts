// One worker per pod: wakes on its UID, reads what is wanted and what is seen, takes the next step until there is none.
// Upstream: pkg/kubelet/pod_workers.go and syncPod in kubelet.go. Invariants: one run per pod at a time; every run starts
// from the stores alone, so a run that was lost, repeated or cut short changes nothing about the end; a run never acts on
// what was seen before the last thing that was asked of the runtime.
import type { Pod } from '../api/k8s.ts';
import { isDown, type ObservedPod } from '../api/observed.ts';
import type { WaitingReason } from '../api/pod-lifecycle.ts';
import { type PodUid, podFullName, podRef } from '../api/pod-ref.ts';
import type { Component } from '../base/component.ts';
import { Aborted, describeError, isKind, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import { untilAborted } from '../base/race-abort.ts';
import { computeStep, type Step } from './compute-step.ts';
import { findRival } from './find-rival.ts';
import type { PodWorkersDeps } from './worker-deps.ts';
import { WorkerRecords } from './worker-records.ts';

/** Far above any node's pods: what limits the runtime's load is the slots, not the workers. */
const parallelRuns = 1000;

export class PodWorkers implements Component {
  readonly name = 'pod-workers';
  readonly #deps: PodWorkersDeps;
  readonly #queue: KeyedQueue<PodUid>;
  readonly #records: WorkerRecords;

  constructor(deps: PodWorkersDeps) {
    this.#deps = deps;
    this.#records = new WorkerRecords(deps);
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
    for (const uid of this.#records.all().keys()) this.poke(uid);
  }

  #onDesired(uid: PodUid): void {
    const gone = this.#deps.desired.get(uid) === undefined;
    // A pod that is wanted no more does not wait for its image or its turn.
    if (gone && this.#records.get(uid)?.state.state === 'syncing') {
      this.#queue.cancel(uid, new Aborted('the pod was removed'));
    }
    this.poke(uid);
  }

  #onError(uid: PodUid, err: unknown, retryInMs: number): void {
    const { log, observed } = this.#deps;
    const record = this.#records.get(uid);
    const message = describeError(err);
    // A runtime that is away is told once, by the relist; the same failure again is no news either.
    const quiet = isKind(err, 'unavailable') || record?.lastFailure === message;
    if (record !== undefined) record.lastFailure = message;
    const fields = {
      pod: nameOf(record?.pod, observed.get(uid)),
      podUID: uid,
      retryInMs: Math.round(retryInMs),
      err,
    };
    if (quiet) log.v(2).info('Pod sync failed again', fields);
    else log.error('Pod sync failed, will be tried again', fields);
  }

  async #run(uid: PodUid, signal: AbortSignal): Promise<void> {
    if (this.#records.get(uid)?.mustLook === true) await this.#look(uid, signal);
    for (;;) {
      signal.throwIfAborted();
      const again = await this.#take(uid, this.#nextStep(uid), signal);
      if (!again) return;
    }
  }

  #nextStep(uid: PodUid): Step {
    const { desired, observed, pleg, policy } = this.#deps;
    const wanted = desired.get(uid);
    const seen = observed.get(uid);
    const record = this.#records.get(uid);
    if (record !== undefined && wanted !== undefined) record.pod = wanted.pod;
    return computeStep({
      worker: record?.state ?? { state: 'new' },
      desired: wanted?.pod,
      seen,
      isSeen: pleg.isSeen(uid),
      sourcesReady: desired.sourcesReady(),
      rival:
        wanted === undefined ? undefined : findRival(wanted, { desired, observed, records: this.#records }),
      refusal: wanted === undefined ? undefined : policy.refusePod(wanted.pod),
      endedForGood: wanted !== undefined && policy.hasEndedForGood(wanted.pod, seen),
    });
  }

  /** Carries one step out; true when the next one should be looked for at once. */
  async #take(uid: PodUid, step: Step, signal: AbortSignal): Promise<boolean> {
    switch (step.step) {
      case 'wait':
        this.#records.tellSyncing(uid, {}, step.explain);
        // Who is waited for pokes us when it is over; this is the net below that.
        this.#queue.addAfter(uid, this.#deps.settings.syncFrequencyMs);
        return false;
      case 'reject':
        return await this.#reject(uid, step, signal);
      case 'sync':
        return await this.#sync(uid, signal);
      case 'terminate':
        return await this.#terminate(uid, step, signal);
      case 'finish':
        this.#records.enter(uid, { state: 'terminated' });
        this.#records.tell(uid, { state: 'terminated', atMs: this.#deps.clock.now(), cleaned: true });
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

  async #reject(
    uid: PodUid,
    { reason, message }: Extract<Step, { step: 'reject' }>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const known = this.#records.get(uid)?.state.state === 'rejected';
    const { pod } = this.#records.enter(uid, { state: 'rejected' });
    this.#records.tell(uid, { state: 'rejected', reason, message });
    if (!known) {
      this.#deps.log.error('Pod rejected', { pod: nameOf(pod, undefined), podUID: uid, reason, message });
    }
    // What ran before it asked for too much must not go on behind a status of Failed.
    if (!isDown(this.#deps.observed.get(uid))) await this.#stop(uid, 'the pod was rejected', signal);
    return false;
  }

  async #sync(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { desired, observed, runtime, settings } = this.#deps;
    const wanted = desired.get(uid);
    if (wanted === undefined) return true;
    const record = this.#records.enter(uid, { state: 'syncing' });
    this.#records.tellSyncing(uid, undefined, 'bringing the runtime to the spec');
    const result = await runtime
      .sync(wanted.pod, observed.get(uid), wanted.order, signal)
      .catch((err: unknown) => this.#lookAfterFailure(uid, err, signal));
    this.#records.tellSyncing(uid, result.waiting, explainWaiting(result.waiting));
    if (result.acted) await this.#look(uid, signal);
    if (result.failure !== undefined) throw result.failure;
    record.lastFailure = '';
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
    this.#records.enter(uid, { state: 'terminating', removal: step.removal });
    this.#records.tellTerminating(uid, step.why);
    await this.#stop(uid, step.why, signal);
    return true;
  }

  /** Resolves when the pod was seen to be down. */
  async #stop(uid: PodUid, why: string, signal: AbortSignal): Promise<void> {
    const { observed, runtime } = this.#deps;
    await runtime.stopPod(this.#records.get(uid)?.pod, observed.get(uid), undefined, why, signal);
    await this.#look(uid, signal);
    // Or a runtime that says yes and does nothing would be asked again without a pause.
    if (!isDown(observed.get(uid))) {
      throw new KubeletError('conflict', 'PodStillUp', 'the pod was stopped, but something of it still runs');
    }
  }

  async #remove(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { desired, log, observed, pleg, runtime } = this.#deps;
    const record = this.#records.get(uid);
    const seen = observed.get(uid);
    const namespace = record?.pod?.metadata?.namespace ?? seen?.namespace ?? '';
    const name = record?.pod?.metadata?.name ?? seen?.name ?? '';
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
    this.#records.forget(uid);
    this.#queue.forget(uid);
  }

  async #collect(uid: PodUid, signal: AbortSignal): Promise<void> {
    const seen = this.#deps.observed.get(uid);
    if (seen === undefined) return;
    if (await this.#deps.runtime.collectGarbage(seen, signal)) await this.#look(uid, signal);
  }

  /** Sees the outcome of our own action at once; when that fails, the next run begins with another look. */
  async #look(uid: PodUid, signal: AbortSignal): Promise<void> {
    const record = this.#records.get(uid);
    if (record !== undefined) record.mustLook = true;
    await this.#deps.pleg.refresh(uid, signal);
    if (record !== undefined) record.mustLook = false;
  }

  /** A pass that failed may have acted before: the next one has to see it, or it would do the same again. */
  async #lookAfterFailure(uid: PodUid, err: unknown, signal: AbortSignal): Promise<never> {
    await this.#look(uid, signal).catch(() => undefined);
    throw err;
  }
}

function explainWaiting(waiting: Readonly<Record<string, WaitingReason>>): string {
  const parts = Object.entries(waiting).map(
    ([name, { reason, message }]) => `container ${name}: ${reason}: ${message}`,
  );
  return parts.length === 0 ? 'running as its spec asks' : parts.join('; ');
}

function nameOf(pod: Pod | undefined, seen: ObservedPod | undefined): string {
  return podRef(pod ?? { metadata: { namespace: seen?.namespace ?? '', name: seen?.name ?? '' } });
}
