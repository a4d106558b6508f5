// Where a pod came from, as its annotations say. Upstream: pkg/kubelet/types/{constants,pod_update}.go.
import type { Pod } from './k8s.ts';

export const configSourceAnnotation = 'kubernetes.io/config.source';
export const configHashAnnotation = 'kubernetes.io/config.hash';
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

/** Came from a file or URL: it has no object of its own in the API. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata?.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== 'api';
}

/** Stands in the API for a static pod. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata?.annotations?.[configMirrorAnnotation] !== undefined;
}
