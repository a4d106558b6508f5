// Rebuilds lost allocations from what containers were given. Pure. Upstream has no counterpart: it does not start without them.
// Invariant: a pod without a result is allocated what its spec requests when it is admitted, as a new pod.

import type { PodUid } from '../../api/pod/pod-ref.ts';
import { resizeAmounts } from '../../api/pod/resize.ts';
import type { PodAllocation } from './allocation-checkpoint.ts';

type PodAllocations = ReadonlyMap<PodUid, PodAllocation>;

/**
 * What a pod was given is what it was allocated, except during a resize, which is then decided again. An older allocation would
 * first revert a resize that is complete, and the spec alone would grant one that was deferred.
 */
export function computeRecoveredAllocations(
  previous: PodAllocations | undefined,
  actuated: PodAllocations,
): Map<PodUid, PodAllocation> {
  const given = [...actuated].filter(([, pod]) => !inheritsLimits(pod));
  return new Map([...(previous ?? []), ...given]);
}

/** The containers of such a pod are recorded with limits of the pod, which are not in their spec. */
function inheritsLimits({ podLevel }: PodAllocation): boolean {
  const { cpuLimitMilli, memoryLimitBytes } = resizeAmounts(podLevel ?? undefined);
  return cpuLimitMilli > 0n || memoryLimitBytes > 0n;
}
