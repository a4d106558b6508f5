// Small questions about a pod's spec that several parts of the status ask. Pure.
// Upstream: pkg/api/v1/pod (IsRestartableInitContainer), pkg/kubelet/types (IsStaticPod).
import type { Container, ContainerStatus, Pod } from '../api/k8s.ts';

const sourceAnnotation = 'kubernetes.io/config.source';

/** Came from a file or URL: it has no object of its own in the API. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata?.annotations?.[sourceAnnotation];
  return source !== undefined && source !== 'api';
}

/** An init container that keeps running beside the others. */
export function isSidecar(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === 'Failed' || phase === 'Succeeded';
}

export function statusOf(statuses: readonly ContainerStatus[], name: string): ContainerStatus | undefined {
  return statuses.find((status) => status.name === name);
}
