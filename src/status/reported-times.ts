// What a kubelet that has just started takes over from the status that its predecessor reported of a static pod. Pure.
// Upstream: updateStatusInternal in pkg/kubelet/status/status_manager.go, which starts from the mirror pod's status.
// Invariant: only times are taken over. Phase and containers come from the runtime, so that a pod whose mirror pod says Failed
// may still run.
import type { PodCondition, PodStatus } from '../api/k8s/types.ts';
import { ownedConditions } from './conditions.ts';

/** The base of the first status of this life. */
export function startFromReported(given: PodStatus | undefined, reported: PodStatus): PodStatus {
  const { conditions, startTime } = reported;
  const own = (conditions ?? []).filter(({ type }) => ownedConditions.includes(type));
  return {
    ...given,
    ...(startTime === undefined || startTime === null ? {} : { startTime }),
    ...(own.length === 0 ? {} : { conditions: [...(given?.conditions ?? []), ...own] }),
  };
}

/** A status that was generated before the reported one was known, with the times of what did not change since then. */
export function withReportedTimes(status: PodStatus, reported: PodStatus): PodStatus {
  const before = new Map((reported.conditions ?? []).map((condition) => [condition.type, condition]));
  const conditions = status.conditions?.map((condition): PodCondition => {
    const old = ownedConditions.includes(condition.type) ? before.get(condition.type) : undefined;
    if (old?.status !== condition.status || old.lastTransitionTime === undefined) return condition;
    return { ...condition, lastTransitionTime: old.lastTransitionTime };
  });
  const { startTime } = reported;
  return {
    ...status,
    ...(startTime === undefined || startTime === null ? {} : { startTime }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}
