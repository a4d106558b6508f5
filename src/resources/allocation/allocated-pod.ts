// Replaces the resources that a pod requests by those it was allocated. Pure. Upstream: updatePodFromAllocation and
// ResourceInfoForPod in pkg/kubelet/allocation. Invariant: a pod whose allocation equals its spec is returned as the same object.
import type { Container, Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { equalRequirements } from '../../api/pod/resize.ts';
import type { PodAllocation } from './allocation-checkpoint.ts';

/** `podLevel`: pod-level resources are allocated too; otherwise those of the spec apply. */
export function podWithAllocation(
  pod: Pod,
  allocation: PodAllocation | undefined,
  options: { readonly podLevel: boolean },
): Pod {
  const { spec } = pod;
  if (allocation === undefined || spec === undefined) return pod;
  const { containers, podLevel } = allocation;
  const differs = ({ name, resources }: Container): boolean =>
    containers.has(name) && !equalRequirements(resources, containers.get(name));
  // differs from upstream: an entry without pod-level resources, as v1.34 wrote it, leaves those of the spec.
  const podDiffers =
    options.podLevel && podLevel !== undefined && !equalRequirements(spec.resources, podLevel ?? undefined);
  if (!podDiffers && !initAndRegularContainers(pod).some(differs)) return pod;
  const replace = (container: Container): Container =>
    differs(container) ? { ...container, resources: containers.get(container.name) ?? {} } : container;
  const { resources, ...rest } = spec;
  const own = podDiffers ? podLevel : resources;
  return {
    ...pod,
    spec: {
      ...rest,
      ...(own === undefined || own === null ? {} : { resources: own }),
      containers: spec.containers.map(replace),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(replace) }),
    },
  };
}

/** `before`: the allocation that this one replaces. */
export function allocationOf(
  pod: Pod,
  options: { readonly podLevel: boolean },
  before?: PodAllocation,
): PodAllocation {
  const containers = initAndRegularContainers(pod).map(
    ({ name, resources }): [string, ResourceRequirements] => [name, resources ?? {}],
  );
  return {
    containers: new Map(containers),
    podLevel: options.podLevel ? (pod.spec?.resources ?? null) : undefined,
    ...(before?.volumeLimits === undefined ? {} : { volumeLimits: before.volumeLimits }),
  };
}
