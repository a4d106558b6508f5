// Plugs together what pods are allocated: the store, who grants resizes, and the narrow views of both that those have who run
// pods, admit them and tell of them. Nothing is decided here.

import type { Container, Pod, PodStatus } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { podRequests } from '../api/pod/resources.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import { isStaticPod } from '../api/ports/pod-source.ts';
import { amountOf, type ResourceAmounts } from '../api/quantity/resource-amounts.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { ResizeMetrics } from '../metrics/resize-metrics.ts';
import { allocatedView, type WantedPods } from '../resources/allocation/allocated-view.ts';
import { Allocations } from '../resources/allocation/allocations.ts';
import { explainResize } from '../resources/allocation/explain-resize.ts';
import { PodResizeConditions } from '../resources/allocation/pod-resize-conditions.ts';
import { PodResizes, type ResizeAdmission } from '../resources/allocation/pod-resizes.ts';
import type { StateFiles } from '../resources/checkpoint/checkpoint-file.ts';
import { cpuManager, memoryManager } from '../resources/topology/none-manager.ts';
import { TopologyManager } from '../resources/topology/topology-manager.ts';
import type { RuntimeResizes } from '../runtime/runtime-deps.ts';
import type { StatusResizes } from '../status/status-loop.ts';
import type { WorkerResizes } from '../workers/worker-deps.ts';

interface AllocationInput<W extends { readonly uid: PodUid; readonly pod: Pod }> {
  readonly config: KubeletConfiguration;
  readonly rootDir: string;
  readonly gates: FeatureGates;
  /** As pods are asked for. */
  readonly desired: WantedPods<W>;
  readonly files: StateFiles;
  readonly metrics: ResizeMetrics;
  readonly clock: Clock;
  readonly log: (component: string) => Logger;
}

/** What only those know that are built later. */
interface ResizeInput {
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly statuses: {
    get(uid: PodUid): PodStatus | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly admission: ResizeAdmission;
  readonly allocatable: () => ResourceAmounts;
  readonly maySwap: (pod: Pod, container: Container) => boolean;
  readonly events: EventSink;
}

interface AssembledAllocation<W extends { readonly uid: PodUid; readonly pod: Pod }> {
  /** The pods as they are run, counted and told. */
  readonly wanted: WantedPods<W>;
  readonly runtime: RuntimeResizes | undefined;
  readonly status: StatusResizes;
  readonly conditions: PodResizeConditions;
  /** Resizes that are not done, for who explains pods. */
  activities(uid: PodUid): readonly PodActivity[];
  /** First of all: they read what was given out in an earlier life. */
  readonly stores: readonly Component[];
  /** Takes what a pod needs of its own when it is admitted. */
  readonly topology: TopologyManager;
  resizes(input: ResizeInput): AssembledResizes;
}

interface AssembledResizes {
  readonly workers: WorkerResizes | undefined;
  /** The pod was admitted with what it has now. */
  admitted(pod: Pod): void;
  readonly components: readonly Component[];
}

export function assembleAllocation<W extends { readonly uid: PodUid; readonly pod: Pod }>(
  input: AllocationInput<W>,
): AssembledAllocation<W> {
  const { clock, desired, files, gates, metrics, rootDir } = input;
  const enabled = gates.InPlacePodVerticalScaling;
  const allocations = new Allocations({ files, rootDir, enabled, clock, log: input.log('allocations') });
  const managers = [
    cpuManager({ files, rootDir, policy: input.config.cpuManagerPolicy }),
    memoryManager({ files, rootDir, policy: input.config.memoryManagerPolicy }),
  ];
  const conditions = new PodResizeConditions(clock);
  conditions.changed.subscribe(() => metrics.told(conditions.all().values()));
  const actuated = (uid: PodUid, name: string) => allocations.actuated(uid, name);
  return {
    wanted: allocatedView(desired, allocations),
    runtime: enabled
      ? {
          allowed: (pod) => !isStaticPod(pod),
          actuated,
          actuate: (uid, name, resources) => allocations.actuate(uid, name, resources),
          saved: () => allocations.saved(),
          took: (ms, success) => metrics.took(ms, success),
        }
      : undefined,
    status: { conditions: (uid) => conditions.get(uid), actuated },
    conditions,
    activities: (uid) => explainResize(conditions.get(uid)),
    stores: [allocations, ...managers],
    topology: new TopologyManager(managers),
    resizes: (rest) =>
      enabled
        ? podResizes(input, allocations, conditions, rest)
        : { workers: undefined, admitted: () => undefined, components: [] },
  };
}

function podResizes<W extends { readonly uid: PodUid; readonly pod: Pod }>(
  input: AllocationInput<W>,
  allocations: Allocations,
  conditions: PodResizeConditions,
  rest: ResizeInput,
): AssembledResizes {
  const { clock, config, desired, gates, log, metrics } = input;
  const { admission, allocatable, events, lifecycles, maySwap, observed, statuses } = rest;
  const loop = new PodResizes({
    desired,
    observed,
    lifecycles,
    allocations,
    conditions,
    admission,
    node: {
      allocatable,
      rules: {
        cpusArePinned: config.cpuManagerPolicy === 'static' && !gates.InPlacePodVerticalScalingExclusiveCPUs,
        memoryIsPinned:
          config.memoryManagerPolicy === 'Static' && !gates.InPlacePodVerticalScalingExclusiveMemory,
        podLevelResources: gates.PodLevelResources,
        maySwap,
      },
    },
    report: { counts: metrics, events, log: log('resizes') },
    clock,
  });
  const shrinks = shrinkWatch(input, allocations, statuses);
  statuses.changed.subscribe((uid) => {
    if (shrinks(uid)) loop.shrank();
  });
  return {
    workers: loop,
    admitted: (pod) => {
      allocations.allocate(pod);
      loop.admitted(pod);
    },
    components: [loop],
  };
}

/** Whether a pod now takes less than when it was last asked about: of what it was allocated and what it still has, the more. */
function shrinkWatch<W extends { readonly uid: PodUid; readonly pod: Pod }>(
  { desired, gates }: AllocationInput<W>,
  allocations: Allocations,
  statuses: ResizeInput['statuses'],
): (uid: PodUid) => boolean {
  const taken = new Map<PodUid, ResourceAmounts>();
  return (uid) => {
    const pod = desired.get(uid)?.pod;
    const status = statuses.get(uid);
    const before = taken.get(uid);
    if (pod === undefined || status === undefined) {
      taken.delete(uid);
      return false;
    }
    const now = podRequests(
      { ...allocations.podOf(pod), status },
      { useStatusResources: true, skipPodLevelResources: !gates.PodLevelResources },
    );
    taken.set(uid, now);
    if (before === undefined) return false;
    return ['cpu', 'memory'].some((name) => amountOf(now, name).cmp(amountOf(before, name)) < 0);
  };
}
