// Reports the result of a probe: events for failures, a log line, metrics, its run of equal results. Upstream: probe in pkg/kubelet/prober/prober.go.

import type { Pod } from '../api/k8s/types.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';
import { containerFieldPath, type EventSink } from '../api/ports/events.ts';
import type { ProbeKind, ProbeOutcome } from '../api/ports/probe-results.ts';
import type { Logger } from '../base/log/log.ts';
import type { ProbedContainer, ProbeMetrics } from './probe-metrics.ts';
import type { ProbeRuns } from './probe-runs.ts';
import { probeTitles } from './probe-spec.ts';
import type { ProbeVerdict } from './run-probe.ts';

interface ProbeReportsDeps {
  readonly events: EventSink;
  readonly metrics: ProbeMetrics;
  readonly runs: ProbeRuns;
  readonly log: Logger;
}

export interface ProbeSubject {
  readonly pod: Pod;
  readonly container: string;
  readonly kind: ProbeKind;
  readonly periodSeconds: number;
}

export class ProbeReports {
  readonly #deps: ProbeReportsDeps;

  constructor(deps: ProbeReportsDeps) {
    this.#deps = deps;
  }

  verdict(subject: ProbeSubject, verdict: ProbeVerdict, seconds: number): void {
    const { metrics } = this.#deps;
    this.#record(subject, verdict, seconds);
    const title = probeTitles[subject.kind];
    switch (verdict.result) {
      case 'success':
        metrics.observe(subject.kind, labels(subject), 'successful', seconds);
        return;
      case 'warning':
        metrics.observe(subject.kind, labels(subject), 'successful', seconds);
        this.#event(subject, 'ProbeWarning', `${title} probe warning: ${verdict.output}`);
        return;
      case 'failure':
        metrics.observe(subject.kind, labels(subject), 'failed', seconds);
        this.#event(subject, 'Unhealthy', `${title} probe failed: ${verdict.output}`);
        return;
      case 'errored':
        this.#event(
          subject,
          'Unhealthy',
          `${title} probe errored and resulted in ${verdict.state} state: ${verdict.output}`,
        );
        return;
      case 'gone':
        return;
    }
  }

  /** Counts the failure of a container that has only just started, without an event. */
  suppressed(subject: ProbeSubject, verdict: ProbeVerdict, seconds: number): void {
    this.#record(subject, verdict, seconds);
    this.#deps.metrics.observe(subject.kind, labels(subject), 'failed', seconds);
  }

  changed(subject: ProbeSubject, outcome: ProbeOutcome): void {
    this.#deps.log.info('Probe result changed', { ...fields(subject), result: outcome });
  }

  broken(subject: ProbeSubject, err: unknown): void {
    this.#deps.log.error('Failed to run the probe', { ...fields(subject), err });
  }

  forget(subject: ProbeSubject): void {
    this.#deps.metrics.forget(subject.kind, labels(subject));
    this.#deps.runs.forget(probeOf(subject));
  }

  #record(subject: ProbeSubject, verdict: ProbeVerdict, seconds: number): void {
    if (verdict.result === 'gone') return;
    const { runs } = this.#deps;
    const { periodSeconds } = subject;
    const isSuccess = verdict.result === 'success' || verdict.result === 'warning';
    if (isSuccess) runs.record(probeOf(subject), { result: 'success', seconds, periodSeconds });
    else {
      const result = verdict.result === 'failure' ? 'failure' : 'unknown';
      runs.record(probeOf(subject), { result, seconds, output: verdict.output, periodSeconds });
    }
  }

  #event(subject: ProbeSubject, reason: string, message: string): void {
    this.#deps.events.pod(
      subject.pod,
      { type: 'Warning', reason, message },
      containerFieldPath(subject.pod, subject.container),
    );
  }
}

function fields({ container, kind, pod }: ProbeSubject): Record<string, unknown> {
  return { pod: podRef(pod), podUID: podUid(pod), container, probeType: probeTitles[kind] };
}

function probeOf({ container, kind, pod }: ProbeSubject): Parameters<ProbeRuns['forget']>[0] {
  return { uid: podUid(pod), container, kind };
}

function labels({ container, pod }: ProbeSubject): ProbedContainer {
  const { name = '', namespace = '' } = pod.metadata ?? {};
  return { container, pod: name, namespace, podUid: podUid(pod) };
}
