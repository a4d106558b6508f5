// How long a pod may still be active. Pure. Upstream: pkg/kubelet/active_deadline.go.
import type { Pod } from '../api/k8s/types.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';

/** Undefined: for ever. */
export function activeMsLeft(pod: Pod, activeMs: number): number | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  return seconds === undefined ? undefined : Math.max(0, seconds * 1_000 - activeMs);
}

export const deadlineExceeded: PodKill = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};
