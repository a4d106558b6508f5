// The status that the Pods API shows of a pod. Pure. Upstream: getEffectivePodStatus in pkg/kubelet/apis/pods/server.go.
import type { PodStatus } from '../api/k8s/types.ts';

/** `computed`: by this process, absent shortly after a start; `reported`: that of the API object, possibly of an earlier one. */
export function shownStatus(reported: PodStatus | undefined, computed: PodStatus | undefined): PodStatus {
  if (computed !== undefined) return computed;
  const status = { ...reported, phase: reported?.phase ?? 'Pending' };
  if (status.conditions === undefined) return status;
  // A client must not rely on a readiness that this process has not verified.
  const conditions = status.conditions.map((condition) =>
    condition.type === 'Ready' && condition.status === 'True' ? { ...condition, ...unverified } : condition,
  );
  return { ...status, conditions };
}

const unverified = {
  status: 'False',
  reason: 'ContainersNotReady',
  message: 'Kubelet is initializing pod containers',
} as const;
