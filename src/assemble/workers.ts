// The room of the pod workers, and of the housekeeping that finds them work on the disk.
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { PodRuntime } from '../runtime/pod-runtime.ts';
import { Housekeeping, Leftovers } from '../workers/housekeeping.ts';
import { PodWorkers } from '../workers/pod-workers.ts';
import type { PodWorkersDeps, WorkerReports, WorkerStores } from '../workers/worker-deps.ts';

interface WorkersInput
  extends Pick<PodWorkersDeps, 'pleg' | 'policy' | 'resizes' | 'clock'>,
    Omit<WorkerStores, 'leftovers'>,
    Pick<WorkerReports, 'events' | 'metrics'> {
  readonly runtime: PodRuntime;
  readonly syncFrequencyMs: number;
  readonly log: (component: string) => Logger;
}

const housekeepingMs = 60_000;

export function assembleWorkers(input: WorkersInput): {
  readonly workers: PodWorkers;
  readonly components: readonly Component[];
} {
  const { clock, desired, lifecycles, log, observed, probes, runtime, unfinishedHooks, volumes } = input;
  const leftovers = new Leftovers();
  const workers = new PodWorkers({
    stores: { desired, observed, lifecycles, leftovers, probes, unfinishedHooks, volumes },
    pleg: input.pleg,
    runtime,
    policy: input.policy,
    resizes: input.resizes,
    report: { events: input.events, metrics: input.metrics, log: log('workers') },
    settings: { syncFrequencyMs: input.syncFrequencyMs },
    clock,
  });
  const housekeeping = new Housekeeping({
    desired,
    workers,
    disk: runtime,
    leftovers,
    clock,
    log: log('housekeeping'),
    everyMs: housekeepingMs,
  });
  return { workers, components: [workers, housekeeping] };
}
