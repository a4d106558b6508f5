// Decides which pods are orphans: something of them is on the node, and nothing accounts for it any more. Pure.
// Upstream: cleanupOrphanedPodDirs in pkg/kubelet/kubelet_volumes.go, which excludes desired and running pods.
import type { PodUid } from '../api/pod/pod-ref.ts';

export interface OrphanViews {
  readonly desired: { sourcesReady(): boolean; get(uid: PodUid): unknown };
  readonly observed: { get(uid: PodUid): unknown };
  readonly pleg: {
    health(): { readonly failure: string | undefined };
    isInspected(uid: PodUid): boolean;
  };
  readonly lifecycles: { get(uid: PodUid): unknown };
  readonly workers: { knows(uid: PodUid): boolean };
}

/**
 * True only when it is certain that no source wants the pod, the runtime does not have it and no worker is responsible for it.
 * False as long as a source has not reported, or the runtime does not answer.
 */
export function isOrphanedPod(
  uid: PodUid,
  { desired, lifecycles, observed, pleg, workers }: OrphanViews,
): boolean {
  const isCertain = desired.sourcesReady() && pleg.health().failure === undefined && pleg.isInspected(uid);
  return (
    isCertain &&
    desired.get(uid) === undefined &&
    observed.get(uid) === undefined &&
    lifecycles.get(uid) === undefined &&
    !workers.knows(uid)
  );
}
