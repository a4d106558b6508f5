// The time left until a pod's activeDeadlineSeconds. Pure. Upstream: pkg/kubelet/active_deadline.go.
import type { Pod } from '../api/k8s/types.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';

/** Undefined: the pod has no deadline. */
export function activeMsLeft(pod: Pod, activeMs: number): number | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  return seconds === undefined ? undefined : Math.max(0, seconds * 1_000 - activeMs);
}

export const deadlineExceeded: PodKill = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};
