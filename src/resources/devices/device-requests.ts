// How many devices a container or pod requests, by resource. Pure. Upstream: getContainerDeviceRequest and getPodDeviceRequest of
// pkg/kubelet/cm/devicemanager. Invariant: sorted by resource; resources that DRA serves for the container are absent.
// differs from upstream: a request for zero devices counts as none, so that it is not rejected for lack of healthy devices.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { podLimits } from '../../api/pod/resources.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import { isExtendedResource } from '../../api/quantity/extended-resources.ts';
import { parseAmounts, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

type DeviceRequest = readonly [resource: string, count: number];

/** Extended resources have equal requests and limits. */
export function containerDeviceRequests(pod: Pod, container: Container): readonly DeviceRequest[] {
  const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
  const isClaimed = (resource: string): boolean =>
    mappings.some((each) => each.containerName === container.name && each.resourceName === resource);
  return counts(parseAmounts(container.resources?.limits)).filter(([resource]) => !isClaimed(resource));
}

export function podDeviceRequests(pod: Pod): readonly DeviceRequest[] {
  return counts(podLimits(pod, { excludeOverhead: true }));
}

function counts(amounts: ResourceAmounts): readonly DeviceRequest[] {
  return [...amounts]
    .filter(([resource, amount]) => isExtendedResource(resource) && amount.sign() > 0)
    .map(([resource, amount]): DeviceRequest => [resource, Number(amount.value())])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * The devices that the container may take over from the init containers before it: they have ended when it starts. Devices of
 * sidecars, and those that an earlier container took over for good, are not among them.
 */
export function computeReusable(
  { spec }: Pod,
  container: Container,
  idsOf: (containerName: string) => readonly string[],
): readonly string[] {
  const reusable = new Set<string>();
  for (const init of spec?.initContainers ?? []) {
    if (init.name === container.name) return [...reusable].toSorted();
    for (const id of idsOf(init.name)) {
      if (isSidecar(init)) reusable.delete(id);
      else reusable.add(id);
    }
  }
  for (const each of spec?.containers ?? []) {
    if (each.name === container.name) break;
    for (const id of idsOf(each.name)) reusable.delete(id);
  }
  return [...reusable].toSorted();
}
