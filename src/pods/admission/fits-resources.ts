// Finds the resources that a node lacks for a pod's requests. Pure. Upstream: fitsRequest in the scheduler's noderesources
// plugin. Kubelet and scheduler must agree, or a pod that was scheduled here is rejected here.

import type { Pod } from '../../api/k8s/types.ts';
import { podRequests } from '../../api/pod/resources.ts';
import { isExtendedResource } from '../../api/quantity/extended-resources.ts';
import { amountOf, filterAmounts, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

/** In milli-CPUs for cpu, in units for everything else. */
export interface Shortage {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

export interface RequestOptions {
  /** The gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** Whether device plugins provide this resource. It is not checked here. Undefined: no resource is. */
  readonly isDevice?: (resource: string) => boolean;
}

export function findShortages(
  pod: Pod,
  others: readonly Pod[],
  allocatable: ResourceAmounts,
  options: RequestOptions,
): readonly Shortage[] {
  const requests = requestsOf(pod, options, false);
  const allocated = others.map((other) => requestsOf(other, options, true));
  const maxPods = amountOf(allocatable, 'pods').value();
  const count = BigInt(others.length);
  const tooMany =
    count + 1n > maxPods ? [{ resource: 'pods', requested: 1n, used: count, capacity: maxPods }] : [];
  const shortages = orderOf(requests).flatMap((resource): Shortage[] => {
    // An extended resource that the node does not advertise is a cluster-level resource, which the kubelet does not check.
    if (isExtendedResource(resource) && !allocatable.has(resource)) return [];
    if (options.isDevice?.(resource) === true) return [];
    const requested = measure(requests, resource);
    const used = allocated.reduce((sum, each) => sum + measure(each, resource), 0n);
    const capacity = measure(allocatable, resource);
    return requested > 0n && requested > capacity - used ? [{ resource, requested, used, capacity }] : [];
  });
  return [...tooMany, ...shortages];
}

/** The amount that an admitted pod counts for, in the unit of a shortage. */
export function requestOf(pod: Pod, resource: string, options: RequestOptions): bigint {
  return resource === 'pods' ? 1n : measure(requestsOf(pod, options, true), resource);
}

/** For an admitted pod the status counts too: a pod being resized down still holds its old resources. */
function requestsOf(pod: Pod, { podLevelResources }: RequestOptions, isAdmitted: boolean): ResourceAmounts {
  const requests = podRequests(pod, {
    skipPodLevelResources: !podLevelResources,
    useStatusResources: isAdmitted,
  });
  return filterAmounts(requests, (name) => name !== 'pods');
}

function measure(amounts: ResourceAmounts, resource: string): bigint {
  const amount = amountOf(amounts, resource);
  return resource === 'cpu' ? amount.milliValue() : amount.value();
}

const first = ['cpu', 'memory', 'ephemeral-storage'];

function orderOf(requests: ResourceAmounts): readonly string[] {
  return [...first, ...[...requests.keys()].filter((name) => !first.includes(name)).toSorted()];
}
