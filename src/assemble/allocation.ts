// Allocated resources: the stores, the managers of exclusive resources, and the views that other rooms read.
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import { allocatedView, type DesiredPodsView } from '../resources/allocation/allocated-view.ts';
import { Allocations } from '../resources/allocation/allocations.ts';
import { PodResizeConditions } from '../resources/allocation/pod-resize-conditions.ts';
import type { CheckpointFaults } from '../resources/checkpoint/report-faults.ts';
import { cpuManager, memoryManager } from '../resources/topology/none-manager.ts';
import { NumaNodes } from '../resources/topology/numa-nodes.ts';
import { TopologyManager } from '../resources/topology/topology-manager.ts';
import { TopologyMetrics } from '../resources/topology/topology-metrics.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

type DesiredPod = ReturnType<DesiredPods['all']>[number];

interface AssembledAllocation {
  readonly allocations: Allocations;
  readonly conditions: PodResizeConditions;
  readonly topology: TopologyManager;
  /** Desired pods with the resources they were allocated: as they are run, counted and reported. */
  readonly allocated: DesiredPodsView<DesiredPod>;
  /** Started before every reader of allocations: they restore the checkpoints of an earlier process. */
  readonly components: readonly Component[];
}

export function assembleAllocation(
  input: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log'>,
  { desired, observed }: Pick<SharedStores, 'desired' | 'observed'>,
  { faults, metrics }: { readonly faults: CheckpointFaults; readonly metrics: KubeletMetrics },
): AssembledAllocation {
  const { clock, config, edges, flags, gates, log } = input;
  const { rootDir } = flags;
  const files = edges.stateFiles;
  const allocations = new Allocations({
    files,
    rootDir,
    enabled: gates.InPlacePodVerticalScaling,
    podLevel: gates.InPlacePodLevelResourcesVerticalScaling,
    faults,
    clock,
    log: log.with({ component: 'allocations' }),
  });
  const managers = [
    cpuManager({ files, rootDir, policy: config.cpuManagerPolicy }),
    memoryManager({ files, rootDir, policy: config.memoryManagerPolicy }),
  ];
  const topology = new TopologyManager({
    providers: managers,
    policy: { name: 'none', preferClosest: false },
    scope: config.topologyManagerScope,
    numa: new NumaNodes([]),
    observed,
    metrics: new TopologyMetrics(metrics.registry, clock),
    log: log.with({ component: 'topology-manager' }),
  });
  return {
    allocations,
    conditions: new PodResizeConditions(clock),
    topology,
    allocated: allocatedView(desired, allocations),
    components: [allocations, ...managers],
  };
}
