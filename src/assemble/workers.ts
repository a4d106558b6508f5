// The pod workers; housekeeping and the container collector, which find work for them; the memory trimmer.
import type { EventSink } from '../api/ports/events.ts';
import type { ContainerReclaim } from '../api/ports/reclaim.ts';
import type { StartStages } from '../api/ports/start-stages.ts';
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { declaredFeatures } from '../node/declared-features.ts';
import type { Pleg } from '../pleg/pleg.ts';
import type { Admission } from '../pods/admission/admission.ts';
import { rejectPod } from '../pods/pod-rejection.ts';
import { UpdateChecks } from '../pods/update-checks.ts';
import type { PodResizes } from '../resources/allocation/pod-resizes.ts';
import type { ManagedResources } from '../resources/topology/managed-resources.ts';
import type { PodRuntime } from '../runtime/pod-runtime.ts';
import { ContainerCollector } from '../workers/container-collector.ts';
import { Housekeeping } from '../workers/housekeeping.ts';
import { MemoryTrimmer } from '../workers/memory-trimmer.ts';
import { PodWorkers } from '../workers/pod-workers.ts';
import type { WorkerStores } from '../workers/worker-deps.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface WorkersRooms {
  readonly stores: SharedStores;
  /** Desired pods with the resources they were allocated. */
  readonly allocated: WorkerStores['desired'];
  readonly unfinishedHooks: WorkerStores['unfinishedHooks'];
  readonly volumes: WorkerStores['volumes'];
  readonly pleg: Pleg;
  readonly runtime: PodRuntime;
  readonly admission: Admission;
  readonly exclusive: { readonly resources: ManagedResources; readonly devices: WorkerStores['devices'] };
  readonly resizes: PodResizes | undefined;
  readonly metrics: KubeletMetrics;
  readonly events: EventSink;
  readonly stages: StartStages;
}

/** Interval of the search for orphaned pods. */
const housekeepingMs = 30_000;

interface WorkersRoom {
  /** In the order in which they are started. */
  readonly components: readonly Component[];
  readonly containerReclaim: ContainerReclaim;
  /** Syncs every pod now. */
  readonly pokeAll: () => void;
}

export function assembleWorkers(
  input: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'gates' | 'log' | 'machine' | 'tracer'>,
  rooms: WorkersRooms,
): WorkersRoom {
  const { clock, config, edges, gates, log, machine, tracer } = input;
  const { admission, allocated, events, exclusive, pleg, resizes, runtime, unfinishedHooks, volumes } = rooms;
  const { apiPods, kills, inSync, lifecycles, observed, probeResults: probes } = rooms.stores;
  const metrics = rooms.metrics.work;
  const { appArmor = false, kernelRelease = '' } = machine;
  const declared = declaredFeatures(gates);
  const workers = new PodWorkers({
    stores: {
      desired: allocated,
      apiPods,
      observed,
      lifecycles,
      probes,
      unfinishedHooks,
      volumes,
      devices: exclusive.devices,
      kills,
      inSync,
    },
    pleg,
    runtime,
    policy: {
      refusePod: (pod) =>
        rejectPod(pod, {
          gates,
          declaredFeatures: declared,
          allowedUnsafeSysctls: config.allowedUnsafeSysctls,
          appArmor,
          kernelRelease,
        }),
      admit: (pod, signal) => admission.admit(pod, signal),
      waitsFor: (pod) => exclusive.resources.waitsFor(pod),
      prepare: (pod, signal) => exclusive.resources.prepare(pod, signal),
    },
    resizes,
    report: { events, metrics, stages: rooms.stages, log: log.with({ component: 'workers' }), tracer },
    settings: {
      get syncFrequencyMs() {
        return config.syncFrequency.ms;
      },
    },
    clock,
  });
  const housekeeping = new Housekeeping({
    views: { desired: allocated, observed, pleg, lifecycles, workers },
    workers,
    disk: runtime,
    metrics,
    clock,
    log: log.with({ component: 'housekeeping' }),
    everyMs: housekeepingMs,
  });
  const { residentBytes, trimMemory: trim } = edges;
  const trimmer = new MemoryTrimmer({ desired: allocated, trim, residentBytes, clock });
  const updates = new UpdateChecks({
    desired: rooms.stores.desired,
    declared,
    events,
    log: log.with({ component: 'pods' }),
  });
  const collector = new ContainerCollector({
    workers,
    observed,
    links: runtime,
    pleg,
    events,
    clock,
    log: log.with({ component: 'container-collector' }),
    tracer,
  });
  return {
    components: [updates, workers, housekeeping, collector, trimmer],
    containerReclaim: collector,
    pokeAll: () => workers.pokeAll(),
  };
}
