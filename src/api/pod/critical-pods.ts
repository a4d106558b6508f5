// Critical pods, and which pods they may preempt. Pure.
// Upstream: IsCriticalPod and Preemptable in pkg/kubelet/types/pod_update.go.
import type { Pod } from '../k8s/types.ts';
import { isMirrorPod, isStaticPod } from '../ports/pod-source.ts';

const systemCriticalPriority = 2_000_000_000;

export function isCriticalPod(pod: Pod): boolean {
  if (isStaticPod(pod) || isMirrorPod(pod)) return true;
  return (pod.spec?.priority ?? Number.NEGATIVE_INFINITY) >= systemCriticalPriority;
}

export function mayPreempt(preemptor: Pod, other: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(other)) return true;
  const [own, others] = [preemptor.spec?.priority, other.spec?.priority];
  return own !== undefined && others !== undefined && own > others;
}
