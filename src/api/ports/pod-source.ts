// Where a pod came from, as its annotations say. Upstream: pkg/kubelet/types/{constants,pod_update}.go.
import type { Pod } from '../k8s/types.ts';
import { asPodUid, type PodUid } from '../pod/pod-ref.ts';

export const configSourceAnnotation = 'kubernetes.io/config.source';
export const configHashAnnotation = 'kubernetes.io/config.hash';
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

/** Came from a file or URL: it has no object of its own in the API. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata?.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== 'api';
}

/** The UID of the static pod that a mirror pod shows; undefined for every other pod. */
export function mirroredUid(pod: Pod | undefined): PodUid | undefined {
  const hash = pod?.metadata?.annotations?.[configMirrorAnnotation];
  return hash === undefined ? undefined : asPodUid(hash);
}

/** Whether a mirror pod shows this static pod, and not an earlier one of its name. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  return (
    mirror.metadata?.annotations?.[configMirrorAnnotation] ===
    pod.metadata?.annotations?.[configHashAnnotation]
  );
}

/** Stands in the API for a static pod. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata?.annotations?.[configMirrorAnnotation] !== undefined;
}
