// Counts the records of the history. Upstream has no counterpart.
import type { Metrics } from '../base/metrics.ts';
import type { EndKind } from './end-record.ts';

export class HistoryMetrics {
  readonly #records;
  readonly #dropped;

  constructor(registry: Metrics) {
    this.#records = registry.counter({
      name: 'kubelet_history_records_total',
      help: 'Recorded ends of containers and pods, by kind.',
      labels: ['kind'],
    });
    this.#dropped = registry.counter({
      name: 'kubelet_history_dropped_total',
      help: 'Ends of containers and pods that could not be recorded (record), or were recorded without log lines (lines).',
      labels: ['part'],
    });
  }

  recorded(kind: EndKind): void {
    this.#records.inc({ kind });
  }

  dropped(part: 'record' | 'lines'): void {
    this.#dropped.inc({ part });
  }
}
