// Logs, events and metrics of the eviction manager. Texts of events are upstream's.
// Invariant: a state that lasts is logged once, not in every pass.
import type { EventSink } from '../api/ports/events.ts';
import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

interface EvictionReportDeps {
  readonly events: Pick<EventSink, 'node'>;
  readonly metrics: { statsAge(signal: string, seconds: number): void };
  readonly log: Logger;
}

export class EvictionReport {
  readonly #deps: EvictionReportDeps;
  /** What was logged last, by message. */
  readonly #lasting = new Map<string, string>();

  constructor(deps: EvictionReportDeps) {
    this.#deps = deps;
  }

  layout(layout: string, replaced: readonly string[]): void {
    const { log } = this.#deps;
    log.v(2).info('Detected the layout of the file systems', { layout });
    if (replaced.length > 0)
      log.error('Ignored thresholds that are derived from other signals', { signals: replaced });
  }

  reclaiming(resource: string): void {
    const { events, log } = this.#deps;
    log.info('Attempting to reclaim a resource', { resource });
    events.node({
      type: 'Warning',
      reason: 'EvictionThresholdMet',
      message: `Attempting to reclaim ${resource}`,
    });
  }

  reclaimed(resource: string): void {
    this.#lasting.clear();
    this.#deps.log.info('Reduced the pressure without evicting pods', { resource });
  }

  /** No threshold is met any more. */
  relieved(): void {
    this.#lasting.clear();
  }

  reclaimFailed(step: string, err: unknown): void {
    this.#once(`reclaim ${step}`, describeError(err), () =>
      this.#deps.log.error('Failed to reclaim resources of the node', { step, err }),
    );
  }

  nothingToEvict(resource: string, critical: number): void {
    this.#once('nothing to evict', `${resource} ${critical}`, () =>
      this.#deps.log.error('Failed to find a pod to evict', { resource, criticalPods: critical }),
    );
  }

  runtimeUnavailable(): void {
    this.#once('runtime', '', () =>
      this.#deps.log.error('Postponed eviction until the container runtime answers'),
    );
  }

  failed(err: unknown): void {
    this.#once('failed', describeError(err), () =>
      this.#deps.log.error('Failed to check the eviction thresholds', { err }),
    );
  }

  statsAge(signal: string, seconds: number): void {
    this.#deps.metrics.statsAge(signal, seconds);
  }

  #once(what: string, details: string, report: () => void): void {
    if (this.#lasting.get(what) === details) return;
    this.#lasting.set(what, details);
    report();
  }
}
