// One probe of one container of a pod: tracks the container's ID, probes when due, counts the results.
// Upstream: pkg/kubelet/prober/worker.go. Invariants: at most one probe in flight; results about a container that was replaced
// or has exited are discarded; nothing stays open when the worker stops.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { ObservedContainer } from '../api/pod/observed.ts';
import { type ContainerId, type PodUid, parseContainerId, podRef, podUid } from '../api/pod/pod-ref.ts';
import type { ProbeOutcome } from '../api/ports/probe-results.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Aborted } from '../base/errors.ts';
import { countResult, noResultRun, type ResultRun } from './count-result.ts';
import { computeDue, isFailureSuppressed, isInFirstPeriod } from './probe-due.ts';
import type { ProbeReports, ProbeSubject } from './probe-reports.ts';
import type { ProbeResults } from './probe-results.ts';
import { type ProbeSpec, timingOf } from './probe-spec.ts';
import { type ProbeTarget, probeTarget } from './probe-target.ts';
import type { ResultCheckpoint } from './result-checkpoint.ts';
import type { ProbeRunner } from './run-probe.ts';

export interface ProbeWorkerDeps {
  readonly run: ProbeRunner;
  readonly results: ProbeResults;
  readonly checkpoint: ResultCheckpoint;
  readonly reports: ProbeReports;
  /** The pod's IP address; undefined while it has none. */
  readonly podIp: (uid: PodUid) => string | undefined;
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

interface WorkerView {
  readonly pod: Pod;
  readonly spec: ProbeSpec;
  /** The newest container of that name; undefined while there is none. */
  readonly observed: ObservedContainer | undefined;
  /** The pod's status in the API; undefined while it is unknown. */
  readonly reported: PodStatus | undefined;
  /** The pod is terminating. */
  readonly isTerminating: boolean;
}

/** The container that is being probed. */
interface Current {
  readonly id: ContainerId;
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  readonly spreadMs: number;
  readonly startedBeforeKubelet: boolean;
  firstRunAtMs: number | undefined;
  lastRunAtMs: number | undefined;
  earlyFailures: number;
  hasBeenReady: boolean;
  run: ResultRun;
  onHold: boolean;
}

/** The results until the first probe. */
const initialOutcomes = { liveness: 'success', readiness: 'failure', startup: 'unknown' } as const;
/** After a kubelet restart, the first probes are spread over this time. */
const maxSpreadMs = 1_000;
/** First retry after an early failure; a command costs more than a connection. */
const firstRetryMs = { command: 1_000, connection: 100 } as const;

export class ProbeWorker {
  readonly #deps: ProbeWorkerDeps;
  /** Wall clock. */
  readonly #kubeletStartedAtMs: number;
  #view: WorkerView;
  #current: Current | undefined;
  #timer: Timer | undefined;
  #stopped = false;
  #inFlight: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(deps: ProbeWorkerDeps, kubeletStartedAtMs: number, view: WorkerView) {
    this.#deps = deps;
    this.#kubeletStartedAtMs = kubeletStartedAtMs;
    this.#view = view;
  }

  /** Something about the pod or its container may have changed. */
  sync(view: WorkerView): void {
    this.#view = view;
    const { isTerminating, observed, spec } = view;
    // A container that is missing for a moment, or whose state is unknown, has not exited.
    const isOver =
      observed !== undefined && (observed.id !== this.#current?.id || observed.state === 'exited');
    if (isOver) this.#dropContainer();
    if (observed?.state === 'running' && this.#current === undefined) this.#adopt(observed);
    else this.#adoptReported();
    if (isTerminating && spec.kind !== 'readiness') this.#suspend();
    else this.#schedule();
  }

  /** Stops probing; results stay for the next run of the kubelet. Resolves when no probe is in flight. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    const inFlight = this.#inFlight;
    inFlight?.abort.abort(new Aborted('the probe was stopped'));
    await inFlight?.ended;
  }

  /** The pod, or this probe of it, was removed: drops its results. */
  close(): void {
    this.#dropContainer();
    this.#deps.reports.forget(this.#subject());
  }

  #adopt(observed: ObservedContainer): void {
    const { clock, random, results } = this.#deps;
    const { kind } = this.#view.spec;
    const nowMs = clock.monotonic();
    const startedBeforeKubelet = observed.startedAtMs < this.#kubeletStartedAtMs;
    const outcome = this.#lastOutcome(observed.id) ?? initialOutcomes[kind];
    this.#current = {
      id: observed.id,
      // A wall clock that was set back must not delay the first probe.
      startedAtMs: nowMs - Math.max(0, clock.now() - observed.startedAtMs),
      seenAtMs: nowMs,
      spreadMs: startedBeforeKubelet ? random() * maxSpreadMs : 0,
      startedBeforeKubelet,
      firstRunAtMs: undefined,
      lastRunAtMs: undefined,
      earlyFailures: 0,
      hasBeenReady: false,
      run: noResultRun,
      onHold: kind === 'startup' && outcome === 'success',
    };
    results.begin(observed.id, kind, outcome);
  }

  /**
   * The status in the API may become known after the container: a static pod's, whose mirror pod is listed later. It counts
   * until the first result of this process.
   */
  #adoptReported(): void {
    const { pod, spec } = this.#view;
    const current = this.#current;
    if (current === undefined || !current.startedBeforeKubelet || current.run !== noResultRun) return;
    const outcome = this.#lastOutcome(current.id);
    if (outcome === undefined || this.#deps.results.get(current.id, spec.kind) === outcome) return;
    if (spec.kind === 'startup' && outcome === 'success') {
      current.onHold = true;
      this.#inFlight?.abort.abort(new Aborted('the container has already started'));
    }
    this.#deps.results.set(podUid(pod), current.id, spec.kind, outcome);
  }

  /** The last result of this very container, from the checkpoint or from the status in the API server. */
  #lastOutcome(id: ContainerId): ProbeOutcome | undefined {
    const { reported, spec } = this.#view;
    if (spec.kind === 'liveness') return undefined;
    const saved = this.#deps.checkpoint.get(id, spec.kind);
    if (saved !== undefined) return saved;
    const { containerStatuses = [], initContainerStatuses = [] } = reported ?? {};
    const status = [...containerStatuses, ...initContainerStatuses].find(
      ({ containerID }) => parseContainerId(containerID ?? '')?.id === id,
    );
    if (status?.[spec.kind === 'startup' ? 'started' : 'ready'] !== true) return undefined;
    // For the next restart, which may be during an outage of the API server.
    void this.#deps.checkpoint.save(id, spec.kind, 'success');
    return 'success';
  }

  #dropContainer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#inFlight?.abort.abort(new Aborted('the container has exited'));
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    this.#deps.results.drop(current.id, this.#view.spec.kind);
    this.#deps.checkpoint.drop(current.id);
  }

  /**
   * Containers of a terminating pod are not restarted, so a failure is withdrawn.
   * differs from upstream: a container that had not started by then is not reported as started, since it would appear ready.
   */
  #suspend(): void {
    const { pod, spec } = this.#view;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#inFlight?.abort.abort(new Aborted('the pod is terminating'));
    const current = this.#current;
    if (current === undefined) return;
    current.onHold = true;
    const failed = this.#deps.results.get(current.id, spec.kind) === 'failure';
    const outcome = spec.kind === 'liveness' ? 'success' : 'unknown';
    if (failed) this.#deps.results.set(podUid(pod), current.id, spec.kind, outcome);
  }

  #schedule(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const current = this.#current;
    if (current === undefined || this.#inFlight !== undefined || this.#stopped) return;
    const { clock, results } = this.#deps;
    const { container, kind, probe } = this.#view.spec;
    const started = container.startupProbe === undefined || results.started(current.id) === true;
    const retryMs = probe.exec === undefined ? firstRetryMs.connection : firstRetryMs.command;
    const dueMs = computeDue({ ...current, kind, timing: timingOf(probe), retryMs, started });
    if (dueMs === undefined) return;
    const inMs = Math.max(0, dueMs - clock.monotonic());
    this.#timer = clock.setTimer(inMs, () => {
      this.#timer = undefined;
      this.#startProbe(current);
    });
  }

  #startProbe(current: Current): void {
    const abort = new AbortController();
    current.lastRunAtMs = this.#deps.clock.monotonic();
    current.firstRunAtMs ??= current.lastRunAtMs;
    const ended = this.#probe(current, abort.signal)
      .catch((err: unknown) => this.#deps.reports.broken(this.#subject(), err))
      .finally(() => {
        this.#inFlight = undefined;
        this.#schedule();
      });
    this.#inFlight = { abort, ended };
  }

  async #probe(current: Current, signal: AbortSignal): Promise<void> {
    const { clock, podIp, reports, run } = this.#deps;
    const { pod, spec } = this.#view;
    const target = (): ProbeTarget =>
      probeTarget(spec.probe, spec.container, podIp(podUid(pod)), podRef(pod));
    const beganMs = clock.monotonic();
    const verdict = await run(current.id, target, signal);
    if (signal.aborted || this.#current !== current) return;
    const seconds = (clock.monotonic() - beganMs) / 1_000;
    const isEarly = verdict.result === 'failure' && this.#isEarly(current, beganMs);
    current.earlyFailures = isEarly ? current.earlyFailures + 1 : 0;
    if (isEarly && isFailureSuppressed({ ...current, timing: timingOf(spec.probe) }, beganMs)) {
      reports.suppressed(this.#subject(), verdict, seconds);
      return;
    }
    reports.verdict(this.#subject(), verdict, seconds);
    if (verdict.result === 'gone' || verdict.result === 'errored') return;
    const result = verdict.result === 'failure' ? 'failure' : 'success';
    if (result === 'success') current.hasBeenReady = true;
    const step = countResult(spec.kind, current.run, result, timingOf(spec.probe));
    current.run = step.run;
    if (step.hold) current.onHold = true;
    if (step.publish !== undefined) await this.#publish(current, step.publish, signal);
  }

  /**
   * A server takes a moment to start listening, so early failures are retried soon.
   * differs from upstream: there the first probe runs about a second after the start, and the next a period later.
   */
  #isEarly(current: Current, atMs: number): boolean {
    const { isTerminating, spec } = this.#view;
    if (spec.kind !== 'readiness' || current.startedBeforeKubelet || isTerminating || current.hasBeenReady)
      return false;
    return isInFirstPeriod({ ...current, timing: timingOf(spec.probe) }, atMs);
  }

  async #publish(current: Current, outcome: ProbeOutcome, signal: AbortSignal): Promise<void> {
    const { checkpoint, reports, results } = this.#deps;
    const { pod, spec } = this.#view;
    if (results.get(current.id, spec.kind) === outcome) return;
    // To disk first: a kubelet killed in between must not revert a published result.
    if (spec.kind !== 'liveness') await checkpoint.save(current.id, spec.kind, outcome);
    if (signal.aborted || this.#current !== current) return;
    reports.changed(this.#subject(), outcome);
    results.set(podUid(pod), current.id, spec.kind, outcome);
  }

  #subject(): ProbeSubject {
    const { pod, spec } = this.#view;
    const periodSeconds = timingOf(spec.probe).periodMs / 1_000;
    return { pod, container: spec.container.name, kind: spec.kind, periodSeconds };
  }
}
