// Executes a worker's steps: reject, sync, stop, clean, remove. Upstream: SyncPod, SyncTerminatingPod and SyncTerminatedPod in
// pkg/kubelet/kubelet.go. Invariant: a step never acts on an observation that is older than the pod's last CRI call.
import { isDown, type ObservedPod } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podFullName, podRef } from '../api/pod/pod-ref.ts';
import { describeError, isAbort, KubeletError } from '../base/errors.ts';
import type { Span } from '../base/tracer.ts';
import { activeMsLeft, deadlineExceeded } from './active-deadline.ts';
import type { Leftover } from './housekeeping.ts';
import { PodAdmission } from './pod-admission.ts';
import { PodGarbage } from './pod-garbage.ts';
import { startFailure } from './pod-spans.ts';
import type { Termination, Transition } from './transition.ts';
import type { PodRefusal, PodWorkersDeps, WorkerSync } from './worker-deps.ts';
import type { WorkerRecord, WorkerRecords } from './worker-records.ts';

/** The loop that runs the steps. */
interface StepLoop {
  wakeAfter(uid: PodUid, ms: number): void;
  poke(uid: PodUid): void;
  /** Nothing of the pod runs any more. */
  terminated(uid: PodUid): void;
  leftover(uid: PodUid): Leftover | undefined;
  forget(uid: PodUid): void;
}

export class PodSteps {
  readonly garbage: PodGarbage;
  readonly #deps: PodWorkersDeps;
  readonly #records: WorkerRecords;
  readonly #loop: StepLoop;
  readonly #admission: PodAdmission;

  constructor(deps: PodWorkersDeps, records: WorkerRecords, loop: StepLoop) {
    this.#deps = deps;
    this.#records = records;
    this.#loop = loop;
    this.#admission = new PodAdmission(deps, records);
    this.garbage = new PodGarbage(deps, records, (uid, signal) => this.inspect(uid, signal));
  }

  /** True: the next transition follows at once. `span`: of this run, if it is traced. */
  async run(uid: PodUid, { next, step }: Transition, signal: AbortSignal, span?: Span): Promise<boolean> {
    switch (step.step) {
      case 'wait':
        if (next.state === 'new' || next.state === 'syncing')
          this.#records.reportSyncing(uid, {}, step.explain);
        // The awaited event wakes the worker; this timer is the safety net.
        this.#loop.wakeAfter(uid, this.#deps.settings.syncFrequencyMs);
        return false;
      case 'reject':
        return next.state === 'rejected' && (await this.#reject(uid, next, next.final, signal));
      case 'sync':
        return await this.#sync(uid, signal, span);
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
      case 'idle':
        this.#records.enter(uid, next);
        await this.garbage.collectAfterSync(uid, signal);
        return false;
      case 'forget':
        this.#loop.forget(uid);
        return false;
    }
  }

  /** Repeats an inspection that failed. */
  async inspectIfDue(uid: PodUid, signal: AbortSignal): Promise<void> {
    if (this.#records.get(uid)?.mustInspect === true) await this.inspect(uid, signal);
  }

  /** Inspects the pod after an action of its worker. If that fails, the next run starts with another inspection. */
  async inspect(
    uid: PodUid,
    signal: AbortSignal,
    { resized, started }: Pick<WorkerSync, 'resized' | 'started'> = {},
  ): Promise<void> {
    const record = this.#records.get(uid);
    if (record !== undefined) record.mustInspect = true;
    try {
      await this.#deps.pleg.refresh(uid, signal, { rereadRunning: resized, started });
    } catch (err) {
      if (!isAbort(err)) this.#warn(record, 'FailedSync', `error determining status: ${describeError(err)}`);
      throw err;
    }
    if (record !== undefined) record.mustInspect = false;
  }

  async #reject(uid: PodUid, refusal: PodRefusal, final: boolean, signal: AbortSignal): Promise<false> {
    const { reason, message } = refusal;
    const wasRejected = this.#records.get(uid)?.state.state === 'rejected';
    const record = this.#records.enter(uid, { state: 'rejected', reason, message, final });
    this.#records.report(uid, { state: 'rejected', reason, message });
    if (!wasRejected) {
      this.#deps.report.log.error('Pod rejected', {
        pod: podRef(record.pod ?? {}),
        podUID: uid,
        reason,
        message,
      });
      this.#deps.report.metrics?.rejected(reason);
      this.#warn(record, reason, message);
    }
    this.#loop.terminated(uid);
    // Containers that ran before the rejection must not run on while the pod's phase is Failed.
    if (!isDown(this.#deps.stores.observed.get(uid))) {
      await this.#stop(uid, undefined, 'the pod was rejected', signal);
    }
    return false;
  }

  async #sync(uid: PodUid, signal: AbortSignal, span: Span | undefined): Promise<boolean> {
    const { resizes, runtime, settings, stores } = this.#deps;
    const { desired, observed } = stores;
    const wanted = desired.get(uid);
    if (wanted === undefined) return true;
    const record = this.#records.enter(uid, { state: 'syncing' });
    const refusal = await this.#admission.check(uid, record, signal);
    if (refusal !== undefined && 'waitMs' in refusal) {
      this.#loop.wakeAfter(uid, refusal.waitMs);
      return false;
    }
    if (refusal !== undefined) return await this.#reject(uid, refusal, true, signal);
    const explain = 'syncing the pod on the runtime';
    this.#records.reportSyncing(uid, undefined, explain);
    resizes?.check(uid);
    const onSandboxReady = (): void =>
      this.#records.reportSyncing(uid, undefined, explain, { sandboxReady: true });
    const onReplacing = (replacing: readonly string[]): void =>
      this.#records.reportSyncing(uid, undefined, explain, { replacing });
    const { order, pod } = wanted;
    const result = await runtime
      .sync({ pod, seen: observed.get(uid), order, onSandboxReady, onReplacing, signal })
      .catch((err: unknown) => this.#inspectAfterFailure(uid, err, signal));
    if (result.resizeFailure !== undefined) resizes?.failed(uid, result.resizeFailure);
    try {
      if (result.acted) await this.inspect(uid, signal, result);
    } finally {
      // Published together with the observation, to avoid an extra status update.
      this.#records.reportSyncing(uid, result.waiting, explainWaiting(result.waiting));
    }
    if (result.resized === true) resizes?.check(uid);
    const retryMs = result.retryInMs ?? Number.POSITIVE_INFINITY;
    if (result.failure !== undefined) {
      // A container in back-off starts on time, even if the retry of the failure comes later.
      if (result.retryInMs !== undefined) this.#loop.wakeAfter(uid, retryMs);
      throw result.failure;
    }
    const unstarted = startFailure(result.waiting);
    if (unstarted !== undefined) span?.fail(new Error(unstarted));
    record.lastFailure = '';
    await this.garbage.collectAfterSync(uid, signal);
    const leftMs = activeMsLeft(wanted.pod, this.#records.activeMs(uid)) ?? Number.POSITIVE_INFINITY;
    this.#loop.wakeAfter(uid, Math.min(retryMs, leftMs, settings.syncFrequencyMs));
    return false;
  }

  async #terminate(
    uid: PodUid,
    next: { readonly state: 'terminating' } & Termination,
    signal: AbortSignal,
  ): Promise<boolean> {
    this.#enterTermination(uid, next);
    this.#records.reportTerminating(uid, next);
    await this.#stop(uid, next.graceSeconds, next.why, signal);
    return true;
  }

  #enterTermination(uid: PodUid, next: { readonly state: 'terminating' | 'terminated' } & Termination): void {
    const before = this.#records.get(uid)?.state.state;
    const { pod } = this.#records.enter(uid, next);
    if (before === 'terminating' || before === 'terminated') return;
    const { graceSeconds, kill, why } = next;
    this.#deps.report.log
      .v(2)
      .info('Started to terminate pod', { pod: podRef(pod ?? {}), podUID: uid, graceSeconds, why });
    // For any other kill, the component that requested it emits the event.
    if (kill !== deadlineExceeded || pod === undefined) return;
    this.#deps.report.events.pod(pod, { type: 'Normal', reason: kill.reason, message: kill.message });
  }

  /** Resolves when an inspection has found the pod stopped. */
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
      this.#warn(record, 'FailedKillPod', `error killing pod: ${describeError(err)}`);
      throw err;
    }
    await this.inspect(uid, signal);
    // Retry with back-off if the runtime reports success but stops nothing.
    if (!isDown(observed.get(uid))) {
      throw new KubeletError(
        'conflict',
        'PodStillUp',
        'the pod was stopped, but a container or sandbox still runs',
      );
    }
  }

  /** Releases the pod's volumes and cgroup. Only then may its status be terminal. */
  async #clean(
    uid: PodUid,
    next: { readonly state: 'terminated' } & Termination,
    signal: AbortSignal,
  ): Promise<boolean> {
    this.#enterTermination(uid, next);
    this.#records.reportTerminated(uid, next, false);
    this.#loop.terminated(uid);
    await this.#deps.runtime.cleanPod(uid, signal);
    this.#records.enter(uid, { ...next, state: 'finished' });
    this.#records.reportTerminated(uid, next, true);
    return true;
  }

  async #remove(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { pleg, report, runtime, settings, stores } = this.#deps;
    const { desired, observed } = stores;
    const seen = observed.get(uid);
    const identity = this.#records.get(uid)?.pod?.metadata ?? seen ?? this.#loop.leftover(uid);
    const { name = '', namespace = '' } = identity ?? {};
    this.#loop.terminated(uid);
    const isGone = await runtime.removePod({ uid, namespace, name }, seen, signal);
    await pleg.refresh(uid, signal);
    // A pod that was added again does not wait for a container that the runtime may keep for long.
    if (isGone || desired.get(uid) !== undefined) {
      this.#countRestart(uid);
      this.#loop.forget(uid);
    } else {
      this.#records.keepUnremovable(uid);
      this.#loop.wakeAfter(uid, settings.syncFrequencyMs);
    }
    if (isGone)
      report.log.info('Pod removed', { pod: podRef({ metadata: { namespace, name } }), podUID: uid });
    // A pod of the same name may start now, even this one if it was added again.
    const fullName = podFullName({ metadata: { namespace, name } });
    for (const other of desired.all()) if (podFullName(other.pod) === fullName) this.#loop.poke(other.uid);
    return false;
  }

  async #restart(uid: PodUid, signal: AbortSignal): Promise<true> {
    const { report, runtime } = this.#deps;
    const pod = podRef(this.#records.get(uid)?.pod ?? {});
    this.#loop.terminated(uid);
    await runtime.cleanPod(uid, signal);
    this.#countRestart(uid);
    this.#loop.forget(uid);
    report.log.info('Pod terminated and will start again: its manifest was removed and restored', {
      pod,
      podUID: uid,
    });
    return true;
  }

  /** Counts a pod that its source has added again under its UID. */
  #countRestart(uid: PodUid): void {
    const { report, stores } = this.#deps;
    const wanted = stores.desired.get(uid);
    if (wanted !== undefined) report.metrics?.restarted(wanted.source !== 'api');
  }

  /** A failed sync may have changed the runtime before it failed. The next sync has to see that, or it would repeat it. */
  async #inspectAfterFailure(uid: PodUid, err: unknown, signal: AbortSignal): Promise<never> {
    await this.inspect(uid, signal).catch(() => undefined);
    throw err;
  }

  #warn(record: WorkerRecord | undefined, reason: string, message: string): void {
    if (record?.pod !== undefined)
      this.#deps.report.events.pod(record.pod, { type: 'Warning', reason, message });
  }
}

function explainWaiting(waiting: Readonly<Record<string, WaitingReason>>): string {
  const parts = Object.entries(waiting).map(([name, { reason, message, untilMs }]) => {
    const until = untilMs === undefined ? '' : `, until ${new Date(untilMs).toISOString()}`;
    return `container ${name}: ${reason}: ${message}${until}`;
  });
  return parts.length === 0 ? 'running as specified' : parts.join('; ');
}

export function nameOf(record: WorkerRecord | undefined, seen: ObservedPod | undefined): string {
  return podRef(record?.pod ?? { metadata: { namespace: seen?.namespace ?? '', name: seen?.name ?? '' } });
}
