// Allocations and resize conditions as the runtime and the status loop see them. Views without state.
import type { Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { isStaticPod } from '../../api/ports/pod-source.ts';
import type { ResizeConditions } from '../../api/ports/resize-conditions.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Allocations } from './allocations.ts';
import type { PodResizeConditions } from './pod-resize-conditions.ts';

interface ActuatedResizes {
  /** Whether this pod's containers may be resized while they run. */
  allowed(pod: Pod): boolean;
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
  actuate(uid: PodUid, container: string, resources: ResourceRequirements): void;
  saved(): Promise<void>;
  took(ms: number, success: boolean): void;
}

/** For the runtime, which applies resizes. Static pods are never resized in place, as upstream. */
export function actuatedResizes(
  allocations: Allocations,
  metrics: Pick<ActuatedResizes, 'took'>,
): ActuatedResizes {
  return {
    allowed: (pod) => !isStaticPod(pod),
    actuated: (uid, container) => allocations.actuated(uid, container),
    actuate: (uid, container, resources) => allocations.actuate(uid, container, resources),
    saved: () => allocations.saved(),
    took: (ms, success) => metrics.took(ms, success),
  };
}

/** For the status of pods. */
export function reportedResizes(
  allocations: Allocations,
  conditions: PodResizeConditions,
): {
  conditions(uid: PodUid): ResizeConditions | undefined;
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
  readonly changed: Subscribable<PodUid>;
} {
  return {
    conditions: (uid) => conditions.get(uid),
    actuated: (uid, container) => allocations.actuated(uid, container),
    changed: conditions.changed,
  };
}
