// When the last graceful shutdown of the node began and ended. Upstream: pkg/kubelet/metrics (GracefulShutdownStartTime,
// GracefulShutdownEndTime).
import type { Metrics } from '../base/metrics.ts';

export class ShutdownMetrics {
  readonly #start;
  readonly #end;

  constructor(registry: Metrics) {
    this.#start = registry.gauge({
      name: 'kubelet_graceful_shutdown_start_time_seconds',
      help: 'Start of the last graceful shutdown of the node, in seconds since the epoch; 0 if there was none.',
    });
    this.#end = registry.gauge({
      name: 'kubelet_graceful_shutdown_end_time_seconds',
      help: 'End of the last graceful shutdown of the node, in seconds since the epoch; 0 while it is in progress.',
    });
  }

  started(atMs: number): void {
    this.#start.set({}, Math.floor(atMs / 1_000));
  }

  ended(atMs: number): void {
    this.#end.set({}, Math.floor(atMs / 1_000));
  }
}
