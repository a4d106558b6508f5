// Plugs the stores, PLEG and the runtime into the pod workers and into the housekeeping.
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { WorkMetrics } from '../metrics/work-metrics.ts';
import type { PodRuntime } from '../runtime/pod-runtime.ts';
import { Housekeeping } from '../workers/housekeeping.ts';
import type { OrphanViews } from '../workers/orphaned-pod.ts';
import { PodWorkers } from '../workers/pod-workers.ts';
import type { PodWorkersDeps, WorkerReports, WorkerStores } from '../workers/worker-deps.ts';

interface WorkersInput
  extends Pick<PodWorkersDeps, 'policy' | 'resizes' | 'clock'>,
    WorkerStores,
    Pick<WorkerReports, 'events'> {
  readonly pleg: PodWorkersDeps['pleg'] & OrphanViews['pleg'];
  readonly metrics: WorkMetrics;
  readonly runtime: PodRuntime;
  readonly syncFrequencyMs: number;
  readonly log: (component: string) => Logger;
}

/** Between two sweeps for orphaned pods. */
const housekeepingMs = 30_000;

export function assembleWorkers(input: WorkersInput): {
  readonly workers: PodWorkers;
  readonly components: readonly Component[];
} {
  const {
    clock,
    desired,
    lifecycles,
    log,
    metrics,
    observed,
    pleg,
    probes,
    runtime,
    unfinishedHooks,
    volumes,
  } = input;
  const workers = new PodWorkers({
    stores: { desired, observed, lifecycles, probes, unfinishedHooks, volumes },
    pleg,
    runtime,
    policy: input.policy,
    resizes: input.resizes,
    report: { events: input.events, metrics, log: log('workers') },
    settings: { syncFrequencyMs: input.syncFrequencyMs },
    clock,
  });
  const housekeeping = new Housekeeping({
    views: { desired, observed, pleg, lifecycles, workers },
    workers,
    disk: runtime,
    metrics,
    clock,
    log: log('housekeeping'),
    everyMs: housekeepingMs,
  });
  return { workers, components: [workers, housekeeping] };
}
