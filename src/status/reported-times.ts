// Carries times of a static pod's status across a restart of the kubelet, from the status in its mirror pod. Pure.
// Invariant: only times are carried over. Phase and containers come from the runtime, so that a pod whose mirror pod is Failed
// may still run. Upstream: updateStatusInternal in pkg/kubelet/status/status_manager.go, which starts from the mirror pod's
// status.
import type { PodCondition, PodStatus } from '../api/k8s/types.ts';
import { ownedConditions } from './conditions.ts';

/** The base for the first status that this process generates. */
export function startFromReported(given: PodStatus | undefined, reported: PodStatus): PodStatus {
  const { conditions, startTime } = reported;
  const own = (conditions ?? []).filter(({ type }) => ownedConditions.includes(type));
  return {
    ...given,
    ...(startTime === undefined || startTime === null ? {} : { startTime }),
    ...(own.length === 0 ? {} : { conditions: [...(given?.conditions ?? []), ...own] }),
  };
}

/** For a status that was generated before the mirror pod appeared: adopts the reported times of unchanged conditions. */
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
