// Reports the result of a probe: events for failures, a log line, metrics. Upstream: probe in pkg/kubelet/prober/prober.go.

import type { Pod } from '../api/k8s/types.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';
import { containerFieldPath, type EventSink } from '../api/ports/events.ts';
import type { ProbeKind, ProbeOutcome } from '../api/ports/probe-results.ts';
import type { Logger } from '../base/log/log.ts';
import type { ProbedContainer, ProbeMetrics } from './probe-metrics.ts';
import { probeTitles } from './probe-spec.ts';
import type { ProbeVerdict } from './run-probe.ts';

interface ProbeReportsDeps {
  readonly events: EventSink;
  readonly metrics: ProbeMetrics;
  readonly log: Logger;
}

export interface ProbeSubject {
  readonly pod: Pod;
  readonly container: string;
  readonly kind: ProbeKind;
}

export class ProbeReports {
  readonly #deps: ProbeReportsDeps;

  constructor(deps: ProbeReportsDeps) {
    this.#deps = deps;
  }

  verdict(subject: ProbeSubject, verdict: ProbeVerdict, seconds: number): void {
    const { metrics } = this.#deps;
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
  suppressed(subject: ProbeSubject, seconds: number): void {
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

function labels({ container, pod }: ProbeSubject): ProbedContainer {
  const { name = '', namespace = '' } = pod.metadata ?? {};
  return { container, pod: name, namespace, podUid: podUid(pod) };
}
