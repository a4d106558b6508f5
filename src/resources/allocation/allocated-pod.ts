// Replaces the resources that a pod requests by those it was allocated. Pure. Upstream: updatePodFromAllocation and
// allocationFromPod in pkg/kubelet/allocation. Invariant: a pod whose allocation equals its spec is returned as the same object.
import type { Container, Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import { initAndRegularContainers, longRunningContainers } from '../../api/pod/find-container.ts';
import { equalRequirements } from '../../api/pod/resize.ts';
import type { PodAllocation } from './allocation-checkpoint.ts';

export function podWithAllocation(pod: Pod, allocation: PodAllocation | undefined): Pod {
  const { spec } = pod;
  if (allocation === undefined || spec === undefined) return pod;
  const differs = ({ name, resources }: Container): boolean =>
    allocation.has(name) && !equalRequirements(resources, allocation.get(name));
  if (!initAndRegularContainers(pod).some(differs)) return pod;
  const replace = (container: Container): Container =>
    differs(container) ? { ...container, resources: allocation.get(container.name) ?? {} } : container;
  return {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(replace),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(replace) }),
    },
  };
}

export function allocationOf(pod: Pod): PodAllocation {
  return new Map(
    longRunningContainers(pod).map(({ name, resources }): [string, ResourceRequirements] => [
      name,
      resources ?? {},
    ]),
  );
}
