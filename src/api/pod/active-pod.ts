// Which pods count against the node: the one definition for admission, cgroups, object references and metrics. Pure.
// Upstream: filterOutInactivePods in pkg/kubelet/kubelet_pods.go.
import type { Pod } from '../k8s/types.ts';
import type { PodLifecycle } from './pod-lifecycle.ts';

export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === 'Failed' || phase === 'Succeeded';
}

/** The worker has finished with the pod: its containers are down, or admission rejected it. */
export function hasEnded(lifecycle: Pick<PodLifecycle, 'state'> | undefined): boolean {
  return lifecycle?.state === 'terminated' || lifecycle?.state === 'rejected';
}

/** Nothing of the pod is left to release: its containers are down, its volumes unmounted. */
export function isCleaned(lifecycle: PodLifecycle | undefined): boolean {
  if (lifecycle === undefined) return true;
  return lifecycle.state === 'rejected' || (lifecycle.state === 'terminated' && lifecycle.cleaned);
}

/**
 * Whether a desired pod uses the node, or is about to. A pod in a terminal phase is inactive, unless it is terminating: the
 * phase of an evicted pod is Failed while its containers still run. A pod without a worker yet has no lifecycle.
 */
export function isActivePod(pod: Pod, lifecycle: Pick<PodLifecycle, 'state'> | undefined): boolean {
  if (hasEnded(lifecycle)) return false;
  return lifecycle?.state === 'terminating' || !isTerminalPhase(pod.status?.phase);
}
