// One probe of one container of a pod: follows the container's ID, asks when it is due, counts what it hears.
// Upstream: pkg/kubelet/prober/worker.go. Invariants: one probe in flight; what was asked of a container that has been replaced
// or stopped is not heard; nothing is left open when it stops.
import type { Pod } from '../api/k8s/types.ts';
import type { ObservedContainer } from '../api/pod/observed.ts';
import { type ContainerId, type PodUid, parseContainerId, podRef, podUid } from '../api/pod/pod-ref.ts';
import type { ProbeOutcome } from '../api/ports/probe-results.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Aborted } from '../base/errors.ts';
import { countResult, noRun, type Run } from './count-result.ts';
import type { KeptResults } from './kept-results.ts';
import { computeDue, isInFirstPeriod, isQuiet } from './probe-due.ts';
import type { ProbeReports, Reported } from './probe-reports.ts';
import type { ProbeResults } from './probe-results.ts';
import { type ProbeSpec, timingOf } from './probe-spec.ts';
import { type ProbeTarget, probeTarget } from './probe-target.ts';
import type { ProbeRunner } from './run-probe.ts';

export interface ProbeWorkerDeps {
  readonly run: ProbeRunner;
  readonly results: ProbeResults;
  readonly kept: KeptResults;
  readonly reports: ProbeReports;
  /** Where the pod's servers listen. */
  readonly podIp: (uid: PodUid) => string | undefined;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
}

interface WorkerView {
  readonly pod: Pod;
  readonly spec: ProbeSpec;
  /** The newest of its name; undefined while there is none. */
  readonly seen: ObservedContainer | undefined;
  /** The pod is on its way out. */
  readonly ending: boolean;
}

/** The container that is being probed. */
interface Current {
  readonly id: ContainerId;
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  readonly spreadMs: number;
  /** It was there before this kubelet. */
  readonly isOld: boolean;
  firstRunAtMs: number | undefined;
  lastRunAtMs: number | undefined;
  tooEarly: number;
  /** It has been ready. */
  hasAnswered: boolean;
  run: Run;
  onHold: boolean;
}

/** What holds until the first word of a probe. */
const initialOutcomes = { liveness: 'success', readiness: 'failure', startup: 'unknown' } as const;
/** The first probes of a kubelet's life come within this time, and not all at once. */
const longestSpreadMs = 1_000;
/** A container that was asked too early is asked again after this time; a command costs more than a connection. */
const soonMs = { command: 1_000, connection: 100 } as const;

export class ProbeWorker {
  readonly #deps: ProbeWorkerDeps;
  /** Wall clock, when this life of the kubelet began. */
  readonly #bornAtMs: number;
  #view: WorkerView;
  #current: Current | undefined;
  #timer: Timer | undefined;
  #stopped = false;
  #flight: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(deps: ProbeWorkerDeps, bornAtMs: number, view: WorkerView) {
    this.#deps = deps;
    this.#bornAtMs = bornAtMs;
    this.#view = view;
  }

  /** Something about the pod may have changed. */
  sync(view: WorkerView): void {
    this.#view = view;
    const { ending, seen, spec } = view;
    // A runtime that says nothing for a moment, or does not know the state, has not ended the container.
    const over = seen !== undefined && (seen.id !== this.#current?.id || seen.state === 'exited');
    if (over) this.#leave();
    if (seen?.state === 'running' && this.#current === undefined) this.#adopt(seen);
    if (ending && spec.kind !== 'readiness') this.#quieten();
    else this.#arm();
  }

  /** Stops asking; what is known stays, for the next life of the kubelet. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    const flight = this.#flight;
    flight?.abort.abort(new Aborted('the probe was given up'));
    await flight?.ended;
  }

  /** The pod has gone, or has this probe no more: nothing is known any longer. */
  close(): void {
    this.#leave();
    this.#deps.reports.forget(this.#who());
  }

  #adopt(seen: ObservedContainer): void {
    const { clock, random, results } = this.#deps;
    const { kind } = this.#view.spec;
    const nowMs = clock.monotonic();
    const isOld = seen.startedAtMs < this.#bornAtMs;
    const outcome = this.#remembered(seen.id) ?? initialOutcomes[kind];
    this.#current = {
      id: seen.id,
      // A wall clock that was set back must not put the first probe off.
      startedAtMs: nowMs - Math.max(0, clock.now() - seen.startedAtMs),
      seenAtMs: nowMs,
      spreadMs: isOld ? random() * longestSpreadMs : 0,
      isOld,
      firstRunAtMs: undefined,
      lastRunAtMs: undefined,
      tooEarly: 0,
      hasAnswered: false,
      run: noRun,
      onHold: kind === 'startup' && outcome === 'success',
    };
    results.begin(seen.id, kind, outcome);
  }

  /** What was last said of this very container: by the kubelet's life before, or in the status that the API server has. */
  #remembered(id: ContainerId): ProbeOutcome | undefined {
    const { pod, spec } = this.#view;
    if (spec.kind === 'liveness') return undefined;
    const kept = this.#deps.kept.get(id, spec.kind);
    if (kept !== undefined) return kept;
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
    const status = [...containerStatuses, ...initContainerStatuses].find(
      ({ containerID }) => parseContainerId(containerID ?? '')?.id === id,
    );
    return status?.[spec.kind === 'startup' ? 'started' : 'ready'] === true ? 'success' : undefined;
  }

  #leave(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#flight?.abort.abort(new Aborted('the container has ended'));
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    this.#deps.results.drop(current.id, this.#view.spec.kind);
    this.#deps.kept.drop(current.id);
  }

  /**
   * A pod that ends is not restarted, so nothing may ask for it any more.
   * differs from upstream: a container that had not started by then does not seem to have, since it would seem ready.
   */
  #quieten(): void {
    const { pod, spec } = this.#view;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#flight?.abort.abort(new Aborted('the pod ends'));
    const current = this.#current;
    if (current === undefined) return;
    current.onHold = true;
    const failed = this.#deps.results.get(current.id, spec.kind) === 'failure';
    const outcome = spec.kind === 'liveness' ? 'success' : 'unknown';
    if (failed) this.#deps.results.set(podUid(pod), current.id, spec.kind, outcome);
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const current = this.#current;
    if (current === undefined || this.#flight !== undefined || this.#stopped) return;
    const { clock, results } = this.#deps;
    const { container, kind, probe } = this.#view.spec;
    const started = container.startupProbe === undefined || results.started(current.id) === true;
    const soon = probe.exec === undefined ? soonMs.connection : soonMs.command;
    const dueMs = computeDue({ ...current, kind, timing: timingOf(probe), soonMs: soon, started });
    if (dueMs === undefined) return;
    const inMs = Math.max(0, dueMs - clock.monotonic());
    this.#timer = clock.setTimer(inMs, () => {
      this.#timer = undefined;
      this.#begin(current);
    });
  }

  #begin(current: Current): void {
    const abort = new AbortController();
    current.lastRunAtMs = this.#deps.clock.monotonic();
    current.firstRunAtMs ??= current.lastRunAtMs;
    const ended = this.#probe(current, abort.signal)
      .catch((err: unknown) => this.#deps.reports.broken(this.#who(), err))
      .finally(() => {
        this.#flight = undefined;
        this.#arm();
      });
    this.#flight = { abort, ended };
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
    current.tooEarly = isEarly ? current.tooEarly + 1 : 0;
    if (isEarly && isQuiet({ ...current, timing: timingOf(spec.probe) }, beganMs)) {
      reports.tooEarly(this.#who(), seconds);
      return;
    }
    reports.verdict(this.#who(), verdict, seconds);
    if (verdict.result === 'gone' || verdict.result === 'errored') return;
    const result = verdict.result === 'failure' ? 'failure' : 'success';
    if (result === 'success') current.hasAnswered = true;
    const step = countResult(spec.kind, current.run, result, timingOf(spec.probe));
    current.run = step.run;
    if (step.hold) current.onHold = true;
    if (step.publish !== undefined) await this.#publish(current, step.publish, signal);
  }

  /**
   * A server takes a moment to listen, and is asked again soon.
   * differs from upstream: there the first probe comes about a second after the start, and the next a period later.
   */
  #isEarly(current: Current, atMs: number): boolean {
    const { ending, spec } = this.#view;
    if (spec.kind !== 'readiness' || current.isOld || ending || current.hasAnswered) return false;
    return isInFirstPeriod({ ...current, timing: timingOf(spec.probe) }, atMs);
  }

  async #publish(current: Current, outcome: ProbeOutcome, signal: AbortSignal): Promise<void> {
    const { kept, reports, results } = this.#deps;
    const { pod, spec } = this.#view;
    if (results.get(current.id, spec.kind) === outcome) return;
    // First to disk: a kubelet that is killed in between must not take back what it has said.
    if (spec.kind !== 'liveness') await kept.keep(current.id, spec.kind, outcome);
    if (signal.aborted || this.#current !== current) return;
    reports.changed(this.#who(), outcome);
    results.set(podUid(pod), current.id, spec.kind, outcome);
  }

  #who(): Reported {
    const { pod, spec } = this.#view;
    return { pod, container: spec.container.name, kind: spec.kind };
  }
}
