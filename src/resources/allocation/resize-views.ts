// Allocations and resize conditions as the runtime and the status loop see them. Views without state.
import type { Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import type { ResizeConditions } from '../../api/ports/resize-conditions.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Allocations } from './allocations.ts';
import type { PodResizeConditions } from './pod-resize-conditions.ts';

interface ActuatedResizes {
  /** Whether pod-level resources are resized in place. */
  readonly podLevel: boolean;
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
  actuatedPodLevel(uid: PodUid): ResourceRequirements | null | undefined;
  actuate(uid: PodUid, container: string, resources: ResourceRequirements): void;
  actuatePodLevel(uid: PodUid, resources: ResourceRequirements | undefined): void;
  actuateNew(pod: Pod): void;
  saved(): Promise<void>;
  took(ms: number, success: boolean): void;
}

/** For the runtime, which applies resizes. */
export function actuatedResizes(
  allocations: Allocations,
  metrics: Pick<ActuatedResizes, 'took'>,
  options: Pick<ActuatedResizes, 'podLevel'>,
): ActuatedResizes {
  return {
    podLevel: options.podLevel,
    actuated: (uid, container) => allocations.actuated(uid, container),
    actuatedPodLevel: (uid) => allocations.actuatedPodLevel(uid),
    actuatePodLevel: (uid, resources) => allocations.actuatePodLevel(uid, resources),
    actuateNew: (pod) => allocations.actuateNew(pod),
    actuate: (uid, container, resources) => allocations.actuate(uid, container, resources),
    saved: () => allocations.saved(),
    took: (ms, success) => metrics.took(ms, success),
  };
}

/** The settings of pod cgroups as last read. */
interface PodCgroupReadings {
  reading(uid: string): CgroupSettings | undefined;
}

/** For the status of pods. */
export function reportedResizes(
  allocations: Allocations,
  conditions: PodResizeConditions,
  cgroups: PodCgroupReadings | undefined,
): {
  conditions(uid: PodUid): ResizeConditions | undefined;
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
  cgroup(uid: PodUid): CgroupSettings | undefined;
  readonly changed: Subscribable<PodUid>;
} {
  return {
    conditions: (uid) => conditions.get(uid),
    cgroup: (uid) => cgroups?.reading(uid),
    actuated: (uid, container) => allocations.actuated(uid, container),
    changed: conditions.changed,
  };
}
