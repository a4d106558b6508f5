// Whether a node has room for what a pod asks for. Pure. Upstream: fitsRequest in the scheduler's noderesources plugin, which
// the kubelet asks as well: both must come to the same answer, or a pod that was placed here is refused here.
import type { Pod } from '../../api/k8s/types.ts';
import { podRequests } from '../../api/pod/resources.ts';
import { amountOf, filterAmounts, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

/** In thousandths for cpu, in units for everything else. */
export interface Shortage {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

export interface RequestOptions {
  /** The gate PodLevelResources. */
  readonly podLevelResources: boolean;
}

export function findShortages(
  pod: Pod,
  others: readonly Pod[],
  allocatable: ResourceAmounts,
  options: RequestOptions,
): readonly Shortage[] {
  const requests = requestsOf(pod, options, false);
  const used = others.map((other) => requestsOf(other, options, true));
  const room = amountOf(allocatable, 'pods').value();
  const count = BigInt(others.length);
  const tooMany = count + 1n > room ? [{ resource: 'pods', requested: 1n, used: count, capacity: room }] : [];
  const shortages = orderOf(requests).flatMap((resource): Shortage[] => {
    // What no node has heard of is not the node's: it is promised by somebody else in the cluster.
    if (isExtended(resource) && !allocatable.has(resource)) return [];
    const requested = measure(requests, resource);
    const taken = used.reduce((sum, each) => sum + measure(each, resource), 0n);
    const capacity = measure(allocatable, resource);
    return requested > 0n && requested > capacity - taken
      ? [{ resource, requested, used: taken, capacity }]
      : [];
  });
  return [...tooMany, ...shortages];
}

/** What one pod counts with, in the measure of a shortage. */
export function requestOf(pod: Pod, resource: string, options: RequestOptions): bigint {
  return resource === 'pods' ? 1n : measure(requestsOf(pod, options, true), resource);
}

/** Of those that are here also counts what they still have, although they were allocated less by now. */
function requestsOf(pod: Pod, { podLevelResources }: RequestOptions, isHere: boolean): ResourceAmounts {
  const requests = podRequests(pod, {
    skipPodLevelResources: !podLevelResources,
    useStatusResources: isHere,
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

/** With a domain that is not Kubernetes' own; upstream takes every domain that ends so for its own. */
function isExtended(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}
