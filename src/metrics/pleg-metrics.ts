// How the runtime is looked at: relists, and the events between them. Upstream: pkg/kubelet/metrics, set by pkg/kubelet/pleg.
import type { Clock } from '../base/clock.ts';
import { defaultBuckets, type Metrics } from '../base/metrics.ts';

export class PlegMetrics {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #relist;
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
      help: 'How long a relist of the runtime took.',
      buckets,
    });
    this.#interval = registry.histogram({
      name: 'kubelet_pleg_relist_interval_seconds',
      help: 'How long after one another relists came.',
      buckets,
    });
    this.#lastSeen = registry.gauge({
      name: 'kubelet_pleg_last_seen_seconds',
      help: 'When the runtime last answered a relist, since the epoch.',
    });
    registry.counter({
      name: 'kubelet_pleg_discard_events',
      help: 'Always 0: a change is a key in a queue, and none is ever dropped.',
    });
    this.#connected = registry.counter({
      name: 'kubelet_evented_pleg_connection_success_count',
      help: "How often the runtime's stream of events began to flow.",
    });
    this.#broken = registry.counter({
      name: 'kubelet_evented_pleg_connection_error_count',
      help: "How often the runtime's stream of events broke.",
    });
    this.#latency = registry.histogram({
      name: 'kubelet_evented_pleg_connection_latency_seconds',
      help: 'How long events of the runtime were under way.',
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

  streamOpened(): void {
    this.#connected.inc({});
  }

  streamBroke(): void {
    this.#broken.inc({});
  }

  /** `madeAtMs` by the runtime's clock, which is the machine's. */
  eventReceived(madeAtMs: number): void {
    this.#latency.observe({}, Math.max((this.#clock.now() - madeAtMs) / 1000, 0));
  }
}
