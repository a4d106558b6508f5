// Lookup in a list of container statuses. Pure. Upstream: GetContainerStatus in pkg/api/v1/pod.
import type { ContainerStatus } from '../api/k8s/types.ts';

export function findContainerStatus(
  statuses: readonly ContainerStatus[],
  name: string,
): ContainerStatus | undefined {
  return statuses.find((status) => status.name === name);
}
