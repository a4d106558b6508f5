// Carries out a worker's steps: reject, sync, stop, clean, remove. Upstream: SyncPod, SyncTerminatingPod and SyncTerminatedPod
// in pkg/kubelet/kubelet.go. Invariant: a run never acts on what was seen before the last thing that was asked of the runtime.
import { isDown, type ObservedPod } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podFullName, podRef } from '../api/pod/pod-ref.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import { describeError, isAbort, KubeletError } from '../base/errors.ts';
import { activeMsLeft, deadlineExceeded } from './active-deadline.ts';
import type { Leftover } from './housekeeping.ts';
import type { Ending, Transition } from './transition.ts';
import type { PodRefusal, PodWorkersDeps, WorkerSync } from './worker-deps.ts';
import type { WorkerRecord, WorkerRecords } from './worker-records.ts';

/** What the steps ask of the loop that runs them. */
interface StepLoop {
  wakeAfter(uid: PodUid, ms: number): void;
  poke(uid: PodUid): void;
  /** The pod has ended: nothing of it runs. */
  ended(uid: PodUid): void;
  leftover(uid: PodUid): Leftover | undefined;
  forget(uid: PodUid): void;
}

export class PodSteps {
  readonly #deps: PodWorkersDeps;
  readonly #records: WorkerRecords;
  readonly #loop: StepLoop;
  /** Pods are admitted one after the other: each counts on what the one before it took. */
  #lastAdmission: Promise<unknown> = Promise.resolve();

  constructor(deps: PodWorkersDeps, records: WorkerRecords, loop: StepLoop) {
    this.#deps = deps;
    this.#records = records;
    this.#loop = loop;
  }

  /** True when the next transition should be looked for at once. */
  async take(uid: PodUid, { next, step }: Transition, signal: AbortSignal): Promise<boolean> {
    switch (step.step) {
      case 'wait':
        if (next.state === 'new' || next.state === 'syncing')
          this.#records.tellSyncing(uid, {}, step.explain);
        // Who is waited for pokes us when it is over; this is the net below that.
        this.#loop.wakeAfter(uid, this.#deps.settings.syncFrequencyMs);
        return false;
      case 'reject':
        return next.state === 'rejected' && (await this.#reject(uid, next, next.final, signal));
      case 'sync':
        return await this.#sync(uid, signal);
      case 'stop':
        return next.state === 'terminating' && (await this.#terminate(uid, next, signal));
      case 'clean':
        return next.state === 'terminated' && (await this.#clean(uid, next, signal));
      case 'remove':
        if (next.state === 'terminated') this.#records.enter(uid, next);
        return await this.#remove(uid, signal);
      case 'restart':
        if (next.state === 'terminated') this.#records.enter(uid, next);
        return await this.#restart(uid, signal);
      case 'rest':
        this.#records.enter(uid, next);
        await this.#collect(uid, signal);
        return false;
      case 'forget':
        this.#loop.forget(uid);
        return false;
    }
  }

  /** Sees the outcome of our own action at once; when that fails, the next run begins with another look. */
  async look(
    uid: PodUid,
    signal: AbortSignal,
    { resized, started }: Pick<WorkerSync, 'resized' | 'started'> = {},
  ): Promise<void> {
    const record = this.#records.get(uid);
    if (record !== undefined) record.mustLook = true;
    try {
      await this.#deps.pleg.refresh(uid, signal, { anew: resized, started });
    } catch (err) {
      if (!isAbort(err)) this.#tell(record, 'FailedSync', `error determining status: ${describeError(err)}`);
      throw err;
    }
    if (record !== undefined) record.mustLook = false;
  }

  async #reject(uid: PodUid, refusal: PodRefusal, final: boolean, signal: AbortSignal): Promise<false> {
    const { reason, message } = refusal;
    const known = this.#records.get(uid)?.state.state === 'rejected';
    const record = this.#records.enter(uid, { state: 'rejected', reason, message, final });
    this.#records.tell(uid, { state: 'rejected', reason, message });
    if (!known) {
      this.#deps.report.log.error('Pod rejected', {
        pod: podRef(record.pod ?? {}),
        podUID: uid,
        reason,
        message,
      });
      this.#deps.report.metrics?.rejected(reason);
      this.#tell(record, reason, message);
    }
    this.#loop.ended(uid);
    // What ran before it asked for too much must not go on behind a status of Failed.
    if (!isDown(this.#deps.stores.observed.get(uid))) {
      await this.#stop(uid, undefined, 'the pod was rejected', signal);
    }
    return false;
  }

  async #sync(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { resizes, runtime, settings, stores } = this.#deps;
    const { desired, observed } = stores;
    const wanted = desired.get(uid);
    if (wanted === undefined) return true;
    const record = this.#records.enter(uid, { state: 'syncing' });
    const refusal = record.admitted ? undefined : await this.#admit(uid, record, signal);
    if (refusal !== undefined) return await this.#reject(uid, refusal, true, signal);
    this.#records.tellSyncing(uid, undefined, 'bringing the runtime to the spec');
    resizes?.check(uid);
    const result = await runtime
      .sync({ pod: wanted.pod, seen: observed.get(uid), order: wanted.order, signal })
      .catch((err: unknown) => this.#lookAfterFailure(uid, err, signal));
    if (result.resizeFailure !== undefined) resizes?.failed(uid, result.resizeFailure);
    try {
      if (result.acted) await this.look(uid, signal, result);
    } finally {
      // Together with what was seen: a reason told before it, or taken back before it, would be a status of its own.
      this.#records.tellSyncing(uid, result.waiting, explainWaiting(result.waiting));
    }
    if (result.resized === true) resizes?.check(uid);
    if (result.failure !== undefined) throw result.failure;
    record.lastFailure = '';
    await this.#collect(uid, signal);
    const leftMs = activeMsLeft(wanted.pod, this.#records.activeMs(uid)) ?? Number.POSITIVE_INFINITY;
    const retryMs = result.retryInMs ?? Number.POSITIVE_INFINITY;
    this.#loop.wakeAfter(uid, Math.min(retryMs, leftMs, settings.syncFrequencyMs));
    return false;
  }

  async #admit(uid: PodUid, record: WorkerRecord, signal: AbortSignal): Promise<PodRefusal | undefined> {
    const { policy, stores } = this.#deps;
    if (policy.admit === undefined) {
      record.admitted = true;
      return undefined;
    }
    this.#records.tellSyncing(uid, undefined, 'waiting to be admitted to the node');
    const before = this.#lastAdmission;
    const admission = (async () => {
      await before.catch(() => undefined);
      signal.throwIfAborted();
      const pod = stores.desired.get(uid)?.pod;
      const refusal = pod === undefined ? undefined : await policy.admit?.(pod, signal);
      record.admitted = refusal === undefined;
      return refusal;
    })();
    this.#lastAdmission = admission.catch(() => undefined);
    return await raceAbort(admission, signal);
  }

  async #terminate(
    uid: PodUid,
    next: { readonly state: 'terminating' } & Ending,
    signal: AbortSignal,
  ): Promise<boolean> {
    this.#enterEnd(uid, next);
    this.#records.tellTerminating(uid, next);
    await this.#stop(uid, next.graceSeconds, next.why, signal);
    return true;
  }

  #enterEnd(uid: PodUid, next: { readonly state: 'terminating' | 'terminated' } & Ending): void {
    const before = this.#records.get(uid)?.state.state;
    const { pod } = this.#records.enter(uid, next);
    if (before === 'terminating' || before === 'terminated') return;
    const { graceSeconds, kill, why } = next;
    this.#deps.report.log.v(2).info('Pod ends', { pod: podRef(pod ?? {}), podUID: uid, graceSeconds, why });
    // Whoever asks for another kind of kill tells of it itself.
    if (kill !== deadlineExceeded || pod === undefined) return;
    this.#deps.report.events.pod(pod, { type: 'Normal', reason: kill.reason, message: kill.message });
  }

  /** Resolves when the pod was seen to be down. */
  async #stop(
    uid: PodUid,
    graceSeconds: number | undefined,
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { runtime, stores } = this.#deps;
    const { observed } = stores;
    const record = this.#records.get(uid);
    try {
      await runtime.stopPod(record?.pod, observed.get(uid), graceSeconds, why, signal);
    } catch (err) {
      signal.throwIfAborted();
      this.#tell(record, 'FailedKillPod', `error killing pod: ${describeError(err)}`);
      throw err;
    }
    await this.look(uid, signal);
    // Or a runtime that says yes and does nothing would be asked again without a pause.
    if (!isDown(observed.get(uid))) {
      throw new KubeletError('conflict', 'PodStillUp', 'the pod was stopped, but something of it still runs');
    }
  }

  /** Gives back what the pod holds on the node; then its status may say that it is over. */
  async #clean(
    uid: PodUid,
    next: { readonly state: 'terminated' } & Ending,
    signal: AbortSignal,
  ): Promise<boolean> {
    this.#enterEnd(uid, next);
    this.#records.tellTerminated(uid, next, false);
    this.#loop.ended(uid);
    await this.#deps.runtime.cleanPod(uid, signal);
    this.#records.enter(uid, { ...next, state: 'finished' });
    this.#records.tellTerminated(uid, next, true);
    return true;
  }

  async #remove(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { pleg, report, runtime, settings, stores } = this.#deps;
    const { desired, observed } = stores;
    const seen = observed.get(uid);
    const known = this.#records.get(uid)?.pod?.metadata ?? seen ?? this.#loop.leftover(uid);
    const { name = '', namespace = '' } = known ?? {};
    this.#loop.ended(uid);
    const isGone = await runtime.removePod({ uid, namespace, name }, seen, signal);
    await pleg.refresh(uid, signal);
    // One that came back meanwhile does not wait for what may stay for long.
    if (isGone || desired.get(uid) !== undefined) this.#loop.forget(uid);
    else {
      this.#records.keep(uid);
      this.#loop.wakeAfter(uid, settings.syncFrequencyMs);
    }
    if (isGone)
      report.log.info('Pod removed', { pod: podRef({ metadata: { namespace, name } }), podUID: uid });
    // Whoever waited for this name may start now, even this very pod if it came back.
    const fullName = podFullName({ metadata: { namespace, name } });
    for (const other of desired.all()) if (podFullName(other.pod) === fullName) this.#loop.poke(other.uid);
    return false;
  }

  async #restart(uid: PodUid, signal: AbortSignal): Promise<true> {
    const { report, runtime } = this.#deps;
    const pod = podRef(this.#records.get(uid)?.pod ?? {});
    this.#loop.ended(uid);
    await runtime.cleanPod(uid, signal);
    this.#loop.forget(uid);
    report.log.info('Pod ended and starts again, its manifest was removed and came back', {
      pod,
      podUID: uid,
    });
    return true;
  }

  async #collect(uid: PodUid, signal: AbortSignal): Promise<void> {
    const seen = this.#deps.stores.observed.get(uid);
    if (seen === undefined) return;
    if (await this.#deps.runtime.collectGarbage(seen, signal)) await this.look(uid, signal);
  }

  /** A pass that failed may have acted before: the next one has to see it, or it would do the same again. */
  async #lookAfterFailure(uid: PodUid, err: unknown, signal: AbortSignal): Promise<never> {
    await this.look(uid, signal).catch(() => undefined);
    throw err;
  }

  #tell(record: WorkerRecord | undefined, reason: string, message: string): void {
    if (record?.pod !== undefined)
      this.#deps.report.events.pod(record.pod, { type: 'Warning', reason, message });
  }
}

function explainWaiting(waiting: Readonly<Record<string, WaitingReason>>): string {
  const parts = Object.entries(waiting).map(([name, { reason, message, untilMs }]) => {
    const until = untilMs === undefined ? '' : `, until ${new Date(untilMs).toISOString()}`;
    return `container ${name}: ${reason}: ${message}${until}`;
  });
  return parts.length === 0 ? 'running as its spec asks' : parts.join('; ');
}

export function nameOf(record: WorkerRecord | undefined, seen: ObservedPod | undefined): string {
  return podRef(record?.pod ?? { metadata: { namespace: seen?.namespace ?? '', name: seen?.name ?? '' } });
}
