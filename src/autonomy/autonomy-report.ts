// Reports when pods run from kept state: log, metrics, and an event of the node once the API server is back.
import type { EventSink } from '../api/ports/events.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';

interface AutonomyReportDeps {
  readonly registry: Metrics;
  readonly events: () => EventSink;
  readonly keptPods: () => number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
}

export class AutonomyReport {
  readonly #deps: AutonomyReportDeps;
  readonly #active;
  #since: { readonly ms: number; readonly pods: number } | undefined;

  constructor(deps: AutonomyReportDeps) {
    this.#deps = deps;
    this.#active = deps.registry.gauge({
      name: 'kubelet_autonomy_active',
      help: '1 while the pods of the API server come from what this node kept, since it cannot be reached.',
    });
    this.#active.set({}, 0);
    const kept = deps.registry.gauge({
      name: 'kubelet_autonomy_kept_pods',
      help: 'Pods of the API server that this node keeps.',
    });
    deps.registry.onCollect(() => kept.set({}, deps.keptPods()));
  }

  begin(pods: number): void {
    if (this.#since !== undefined) return;
    this.#since = { ms: this.#deps.clock.monotonic(), pods };
    this.#active.set({}, 1);
    this.#deps.log.warn('The API server cannot be reached, running the pods that were kept', { pods });
  }

  end(): void {
    const since = this.#since;
    if (since === undefined) return;
    this.#since = undefined;
    this.#active.set({}, 0);
    const { clock, events, log } = this.#deps;
    const seconds = Math.round((clock.monotonic() - since.ms) / 1000);
    log.info('The API server is back, its pods replace the kept ones', { seconds, pods: since.pods });
    const message = `The API server could not be reached for ${seconds} s after the start of the kubelet; ${since.pods} kept pods were run meanwhile`;
    events().node({ type: 'Normal', reason: 'KeptPodsReplaced', message });
  }
}
