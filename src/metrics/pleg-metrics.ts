// Metrics of relists and of the runtime's event stream. Upstream: pkg/kubelet/metrics, set by pkg/kubelet/pleg.
import type { Clock } from '../base/clock.ts';
import { defaultBuckets, type Metrics } from '../base/metrics.ts';

export class PlegMetrics {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #relist;
  readonly #podRelist;
  readonly #interval;
  readonly #lastSeen;
  readonly #connected;
  readonly #broken;
  readonly #latency;
  #lastRelistMs: number | undefined;

  constructor(registry: Metrics, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
    const buckets = defaultBuckets;
    this.#relist = registry.histogram({
      name: 'kubelet_pleg_relist_duration_seconds',
      help: 'Duration of relists.',
      buckets,
    });
    this.#podRelist = registry.histogram({
      name: 'kubelet_pleg_pod_relist_duration_seconds',
      help: 'Duration of the inspection of a single pod after its sync.',
      buckets,
    });
    this.#interval = registry.histogram({
      name: 'kubelet_pleg_relist_interval_seconds',
      help: 'Interval between relists.',
      buckets,
    });
    this.#lastSeen = registry.gauge({
      name: 'kubelet_pleg_last_seen_seconds',
      help: 'Time of the last successful relist in seconds since the epoch.',
    });
    registry.counter({
      name: 'kubelet_pleg_discard_events',
      help: 'Always 0: changes are queued keys, which are never discarded.',
    });
    this.#connected = registry.counter({
      name: 'kubelet_evented_pleg_connection_success_count',
      help: "Connections of the runtime's event stream.",
    });
    this.#broken = registry.counter({
      name: 'kubelet_evented_pleg_connection_error_count',
      help: "Interruptions of the runtime's event stream.",
    });
    this.#latency = registry.histogram({
      name: 'kubelet_evented_pleg_connection_latency_seconds',
      help: "Latency of the runtime's events.",
      buckets,
    });
  }

  observeRelist(seconds: number): void {
    const nowMs = this.#clock.monotonic();
    this.#relist.observe({}, seconds);
    if (this.#lastRelistMs !== undefined) this.#interval.observe({}, (nowMs - this.#lastRelistMs) / 1000);
    this.#lastRelistMs = nowMs;
    this.#lastSeen.set({}, Math.trunc(this.#clock.now() / 1000));
  }

  observePodRelist(seconds: number): void {
    this.#podRelist.observe({}, seconds);
  }

  streamOpened(): void {
    this.#connected.inc({});
  }

  streamBroke(): void {
    this.#broken.inc({});
  }

  /** `createdAtMs`: by the runtime's clock, which is the machine's. */
  eventReceived(createdAtMs: number): void {
    this.#latency.observe({}, Math.max((this.#clock.now() - createdAtMs) / 1000, 0));
  }
}
