// How long an evicted pod may take to terminate. Pure. Upstream: synchronize in pkg/kubelet/eviction/eviction_manager.go.
import type { Pod } from '../../api/k8s/types.ts';
import { isHard, type Threshold } from './thresholds.ts';

/** For hard thresholds and exceeded storage limits. */
export const immediateGraceSeconds = 1;

/** For a soft threshold the pod's own grace period, at most `maxPodGracePeriod` (evictionMaxPodGracePeriod); at least a second. */
export function evictionGraceSeconds(threshold: Threshold, pod: Pod, maxPodGracePeriod: number): number {
  if (isHard(threshold)) return immediateGraceSeconds;
  const own = pod.spec?.terminationGracePeriodSeconds ?? maxPodGracePeriod;
  return Math.max(immediateGraceSeconds, Math.min(maxPodGracePeriod, own));
}
