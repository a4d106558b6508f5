// Allocated resources: the stores, and the views that other rooms read.
import type { Component } from '../base/component.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import { allocatedView, type DesiredPodsView } from '../resources/allocation/allocated-view.ts';
import { Allocations } from '../resources/allocation/allocations.ts';
import { PodResizeConditions } from '../resources/allocation/pod-resize-conditions.ts';
import type { CheckpointFaults } from '../resources/checkpoint/report-faults.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

type DesiredPod = ReturnType<DesiredPods['all']>[number];

interface AssembledAllocation {
  readonly allocations: Allocations;
  readonly conditions: PodResizeConditions;
  /** Desired pods with the resources they were allocated: as they are run, counted and reported. */
  readonly allocated: DesiredPodsView<DesiredPod>;
  /** Started before every reader of allocations: they restore the checkpoints of an earlier process. */
  readonly components: readonly Component[];
}

export function assembleAllocation(
  input: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log'>,
  { desired }: Pick<SharedStores, 'desired'>,
  faults: CheckpointFaults,
): AssembledAllocation {
  const { clock, edges, flags, gates, log } = input;
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
  return {
    allocations,
    conditions: new PodResizeConditions(clock),
    allocated: allocatedView(desired, allocations),
    components: [allocations],
  };
}
