// The requested changes of resources per container, as the metric counts them. Pure.
// Upstream: recordContainerResizeOperations in pkg/kubelet/kubelet.go.
import type { Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { resizeAmounts } from '../../api/pod/resize.ts';

export interface RequestedResize {
  readonly resource: 'cpu' | 'memory';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

const parts = [
  { of: 'memoryRequestBytes', resource: 'memory', requirement: 'requests' },
  { of: 'memoryLimitBytes', resource: 'memory', requirement: 'limits' },
  { of: 'cpuRequestMilli', resource: 'cpu', requirement: 'requests' },
  { of: 'cpuLimitMilli', resource: 'cpu', requirement: 'limits' },
] as const;

export function requestedResizes(before: Pod, after: Pod): readonly RequestedResize[] {
  const now = initAndRegularContainers(after);
  return initAndRegularContainers(before).flatMap(({ name, resources }) => {
    const container = now.find((each) => each.name === name);
    if (container === undefined) return [];
    const [old, updated] = [resizeAmounts(resources), resizeAmounts(container.resources)] as const;
    return parts.flatMap(({ of, resource, requirement }) => {
      const operation = operationOf(old[of], updated[of]);
      return operation === undefined ? [] : { resource, requirement, operation };
    });
  });
}

function operationOf(before: bigint, after: bigint): RequestedResize['operation'] | undefined {
  if (before === after) return undefined;
  if (after === 0n) return 'remove';
  if (before === 0n) return 'add';
  return after < before ? 'decrease' : 'increase';
}
