// The source of a pod according to its annotations. Upstream: pkg/kubelet/types/{constants,pod_update}.go.
import type { Pod } from '../k8s/types.ts';
import { asPodUid, type PodUid } from '../pod/pod-ref.ts';

export const configSourceAnnotation = 'kubernetes.io/config.source';
export const configHashAnnotation = 'kubernetes.io/config.hash';
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

/** Whether the pod comes from a file or URL and has no API object of its own. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata?.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== 'api';
}

/** The UID of a mirror pod's static pod; undefined for other pods. */
export function mirroredUid(pod: Pod | undefined): PodUid | undefined {
  const hash = pod?.metadata?.annotations?.[configMirrorAnnotation];
  return hash === undefined ? undefined : asPodUid(hash);
}

/** Whether the mirror pod belongs to this static pod, not to an earlier one of its name. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  return (
    mirror.metadata?.annotations?.[configMirrorAnnotation] ===
    pod.metadata?.annotations?.[configHashAnnotation]
  );
}

/** Whether the pod represents a static pod in the API. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata?.annotations?.[configMirrorAnnotation] !== undefined;
}
