// Small questions about a pod's spec that several parts of the status ask. Pure.
// Upstream: pkg/api/v1/pod (IsRestartableInitContainer).
import type { Container, ContainerStatus } from '../api/k8s/types.ts';

/** An init container that keeps running beside the others. */
export function isSidecar(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

export function statusOf(statuses: readonly ContainerStatus[], name: string): ContainerStatus | undefined {
  return statuses.find((status) => status.name === name);
}
