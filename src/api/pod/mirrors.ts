// Maps static pods to the mirror pods that represent them in the API. Pure.
// Upstream: GetMirrorPodByPod and TranslatePodUID in pkg/kubelet/pod (manager).
import type { Pod } from '../k8s/types.ts';
import { isMirrorOf } from '../ports/pod-source.ts';
import { type PodUid, podFullName } from './pod-ref.ts';

interface MirrorLookup {
  mirror(fullName: string): Pod | undefined;
}

interface PodsBySource {
  all(): readonly { readonly uid: PodUid; readonly pod: Pod; readonly source: string }[];
}

/** The mirror pod of this static pod. A mirror pod of an earlier manifest belongs to the pod that is still terminating. */
export function findMirror(mirrors: MirrorLookup, pod: Pod): Pod | undefined {
  const mirror = mirrors.mirror(podFullName(pod));
  return mirror !== undefined && isMirrorOf(mirror, pod) ? mirror : undefined;
}

/** The static pods that a mirror pod of this full name may represent. */
export function staticPodsNamed(desired: PodsBySource, fullName: string): readonly PodUid[] {
  return desired
    .all()
    .filter(({ pod, source }) => source !== 'api' && podFullName(pod) === fullName)
    .map(({ uid }) => uid);
}

/** The API object that a pod's status is written to: the pod itself, or a static pod's mirror pod. */
export function statusTarget(
  desired: { get(uid: PodUid): { readonly pod: Pod; readonly source: string } | undefined },
  apiPods: MirrorLookup & { get(uid: PodUid): Pod | undefined },
  uid: PodUid,
): Pod | undefined {
  const entry = desired.get(uid);
  if (entry === undefined || entry.source === 'api') return apiPods.get(uid);
  return findMirror(apiPods, entry.pod);
}
