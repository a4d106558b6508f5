// Counts and durations of probes. Upstream: ProberResults and ProberDuration in pkg/kubelet/prober.
// Invariant: names and labels are upstream's; a container's series are removed with its pod.
import type { ProbeKind } from '../api/ports/probe-results.ts';
import { Metrics } from '../base/metrics.ts';
import { probeTitles } from './probe-spec.ts';

export interface ProbedContainer {
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly podUid: string;
}

const results = ['successful', 'failed'] as const;

export class ProbeMetrics {
  readonly #metrics = new Metrics();
  readonly #total = this.#metrics.counter({
    name: 'prober_probe_total',
    help: 'Probes of a container, by kind and result.',
    labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
  });
  readonly #seconds = this.#metrics.histogram({
    name: 'prober_probe_duration_seconds',
    help: 'How long probes that succeeded took.',
    labels: ['probe_type', 'container', 'pod', 'namespace'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });

  observe(
    kind: ProbeKind,
    container: ProbedContainer,
    result: (typeof results)[number],
    seconds: number,
  ): void {
    this.#total.inc({ ...totalLabels(kind, container), result });
    if (result === 'successful') this.#seconds.observe(secondsLabels(kind, container), seconds);
  }

  forget(kind: ProbeKind, container: ProbedContainer): void {
    for (const result of results) this.#total.remove({ ...totalLabels(kind, container), result });
    this.#seconds.remove(secondsLabels(kind, container));
  }

  /** For the test that compares the documentation with the families. */
  describe(): ReturnType<Metrics['describe']> {
    return this.#metrics.describe();
  }

  render(): string {
    return this.#metrics.render();
  }
}

function secondsLabels(kind: ProbeKind, { container, namespace, pod }: ProbedContainer) {
  return { probe_type: probeTitles[kind], container, pod, namespace };
}

function totalLabels(kind: ProbeKind, container: ProbedContainer) {
  return { ...secondsLabels(kind, container), pod_uid: container.podUid };
}
