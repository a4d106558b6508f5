// Tells what a probe found: an event for what is wrong, a log line, a count. Upstream: probe in pkg/kubelet/prober/prober.go.

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

export interface Reported {
  readonly pod: Pod;
  readonly container: string;
  readonly kind: ProbeKind;
}

export class ProbeReports {
  readonly #deps: ProbeReportsDeps;

  constructor(deps: ProbeReportsDeps) {
    this.#deps = deps;
  }

  verdict(who: Reported, verdict: ProbeVerdict, seconds: number): void {
    const { metrics } = this.#deps;
    const title = probeTitles[who.kind];
    switch (verdict.result) {
      case 'success':
        metrics.observe(who.kind, labels(who), 'successful', seconds);
        return;
      case 'warning':
        metrics.observe(who.kind, labels(who), 'successful', seconds);
        this.#event(who, 'ProbeWarning', `${title} probe warning: ${verdict.output}`);
        return;
      case 'failure':
        metrics.observe(who.kind, labels(who), 'failed', seconds);
        this.#event(who, 'Unhealthy', `${title} probe failed: ${verdict.output}`);
        return;
      case 'errored':
        this.#event(
          who,
          'Unhealthy',
          `${title} probe errored and resulted in ${verdict.state} state: ${verdict.output}`,
        );
        return;
      case 'gone':
        return;
    }
  }

  /** A failure that is no news: the container has only just been started. */
  tooEarly(who: Reported, seconds: number): void {
    this.#deps.metrics.observe(who.kind, labels(who), 'failed', seconds);
  }

  changed(who: Reported, outcome: ProbeOutcome): void {
    this.#deps.log.info('Probe result changed', { ...fields(who), result: outcome });
  }

  broken(who: Reported, err: unknown): void {
    this.#deps.log.error('Probe could not be judged', { ...fields(who), err });
  }

  forget(who: Reported): void {
    this.#deps.metrics.forget(who.kind, labels(who));
  }

  #event(who: Reported, reason: string, message: string): void {
    this.#deps.events.pod(
      who.pod,
      { type: 'Warning', reason, message },
      containerFieldPath(who.pod, who.container),
    );
  }
}

function fields({ container, kind, pod }: Reported): Record<string, unknown> {
  return { pod: podRef(pod), podUID: podUid(pod), container, probeType: probeTitles[kind] };
}

function labels({ container, pod }: Reported): ProbedContainer {
  const { name = '', namespace = '' } = pod.metadata ?? {};
  return { container, pod: name, namespace, podUid: podUid(pod) };
}
