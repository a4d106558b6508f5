// Metrics of the kubelet's own process and of the Node.js runtime. Upstream: the process collector of prometheus/client_golang,
// with the same names; nodejs_* replaces go_*, under the names of Node's Prometheus client.
import type { ProcessFigures } from '../api/ports/process-figures.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Component } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';

export interface ProcessFiguresSource {
  readonly version: string;
  read(): ProcessFigures;
  watchCollections(observe: (kind: string, seconds: number) => void): void;
}

const counters: Readonly<Record<string, readonly [string, (figures: ProcessFigures) => number]>> = {
  process_cpu_seconds_total: ['Cumulative CPU time of the kubelet.', (own) => own.cpuSeconds],
  process_network_receive_bytes_total: [
    "Bytes received in the kubelet's network namespace.",
    (own) => own.receivedBytes,
  ],
  process_network_transmit_bytes_total: [
    "Bytes transmitted in the kubelet's network namespace.",
    (own) => own.sentBytes,
  ],
};

const gauges: Readonly<Record<string, readonly [string, (figures: ProcessFigures) => number | undefined]>> = {
  process_max_fds: ['Maximum number of open file descriptors.', (own) => own.maxFiles],
  process_open_fds: ['Open file descriptors.', (own) => own.openFiles],
  process_resident_memory_bytes: ['Resident memory of the kubelet.', (own) => own.residentBytes],
  process_start_time_seconds: [
    'Start time of the kubelet in seconds since the epoch.',
    (own) => own.startedAtSeconds,
  ],
  process_virtual_memory_bytes: ['Virtual memory of the kubelet.', (own) => own.virtualBytes],
  process_virtual_memory_max_bytes: ['Maximum virtual memory of the kubelet.', (own) => own.virtualMaxBytes],
  nodejs_heap_size_total_bytes: ['Size of the V8 heap.', (own) => own.heapTotalBytes],
  nodejs_heap_size_used_bytes: ['Used size of the V8 heap.', (own) => own.heapUsedBytes],
  nodejs_external_memory_bytes: ['Memory of objects outside the V8 heap.', (own) => own.externalBytes],
  nodejs_eventloop_utilization: [
    'Fraction of the time since the last scrape during which the event loop was busy.',
    (own) => own.loopUtilization,
  ],
  nodejs_eventloop_lag_mean_seconds: [
    'Mean delay of the event loop since the last scrape.',
    (own) => own.loopDelay?.meanSeconds,
  ],
  nodejs_eventloop_lag_p50_seconds: [
    'Median delay of the event loop since the last scrape.',
    (own) => own.loopDelay?.p50Seconds,
  ],
  nodejs_eventloop_lag_p99_seconds: [
    '99th percentile of the delay of the event loop since the last scrape.',
    (own) => own.loopDelay?.p99Seconds,
  ],
  nodejs_eventloop_lag_max_seconds: [
    'Longest delay of the event loop since the last scrape.',
    (own) => own.loopDelay?.maxSeconds,
  ],
};

/** The component closes the source when it stops. */
export function processMetrics(registry: Metrics, own: ProcessFiguresSource & { close(): void }): Component {
  const counted = Object.entries(counters).map(([name, [help, pick]]) => {
    const counter = registry.counter({ name, help });
    return (figures: ProcessFigures) => counter.raiseTo({}, pick(figures));
  });
  const measured = Object.entries(gauges).map(([name, [help, pick]]) => {
    const gauge = registry.gauge({ name, help });
    return (figures: ProcessFigures) => {
      const value = pick(figures);
      if (value !== undefined) gauge.set({}, value);
    };
  });
  const version = registry.gauge({
    name: 'nodejs_version_info',
    help: 'Node.js version; always 1.',
    labels: ['version'],
  });
  version.set({ version: own.version }, 1);
  const collections = registry.histogram({
    name: 'nodejs_gc_duration_seconds',
    help: 'Duration of garbage collections, by kind, since the first scrape.',
    labels: ['kind'],
    buckets: [0.001, 0.01, 0.1, 1, 2, 5],
  });
  registry.onCollect(() => {
    own.watchCollections((kind, seconds) => collections.observe({ kind }, seconds));
    const figures = own.read();
    for (const set of [...counted, ...measured]) set(figures);
  });
  return {
    name: 'process-metrics',
    start: async (signal) => ({ stopped: untilAborted(signal).then(() => own.close()) }),
  };
}
