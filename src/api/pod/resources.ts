// What a pod as a whole requests and may use: containers together, init containers one after the other, sidecars from
// their start on, overhead on top, pod-level amounts instead. Pure. Scheduler and kubelet must come to the same sums, or
// a pod that was placed here is refused here. Upstream: component-helpers/resource (PodRequests, PodLimits).
import type { Container, ContainerStatus, Pod } from '../k8s/types.ts';
import { isHugePages } from '../quantity/huge-pages.ts';
import {
  addAmounts,
  filterAmounts,
  maxAmounts,
  noAmounts,
  overrideAmounts,
  parseAmounts,
  type ResourceAmounts,
} from '../quantity/resource-amounts.ts';
import { isSidecar } from './restart-policy.ts';

export interface PodResourcesOptions {
  /** Ignore spec.resources, as without the PodLevelResources feature. */
  readonly skipPodLevelResources?: boolean;
  readonly excludeOverhead?: boolean;
  /** Count what a container under in-place resize really has or was allocated, where that is more than it asks for. */
  readonly useStatusResources?: boolean;
}

/** What the pod needs while this container starts or runs; for an init container with the sidecars before it. */
interface ContainerAmounts {
  readonly kind: 'container' | 'init-container';
  readonly amounts: ResourceAmounts;
}

type Which = 'requests' | 'limits';

export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePages(name);
}

function podLevelAmounts(pod: Pod, which: Which): ResourceAmounts {
  return filterAmounts(parseAmounts(pod.spec?.resources?.[which]), isPodLevelResource);
}

/** Whether the pod states amounts for itself as a whole. */
export function hasPodLevelResources(pod: Pod): boolean {
  return podLevelAmounts(pod, 'requests').size + podLevelAmounts(pod, 'limits').size > 0;
}

function isResizeInfeasible(pod: Pod): boolean {
  const pending = pod.status?.conditions?.find(({ type }) => type === 'PodResizePending');
  return pending?.reason === 'Infeasible';
}

function statusesByName(pod: Pod): ReadonlyMap<string, ContainerStatus> {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return new Map([...containerStatuses, ...initContainerStatuses].map((status) => [status.name, status]));
}

/** The amounts a container counts with: its spec's, or under resize the most of spec, status and allocation. */
function amountsReader(
  pod: Pod,
  which: Which,
  useStatus: boolean,
): (container: Container) => ResourceAmounts {
  const statuses = useStatus ? statusesByName(pod) : new Map<string, ContainerStatus>();
  const infeasible = isResizeInfeasible(pod);
  return (container) => {
    const asked = parseAmounts(container.resources?.[which]);
    const status = statuses.get(container.name);
    if (status?.resources === undefined) return asked;
    const actual = parseAmounts(status.resources[which]);
    const allocated = which === 'requests' ? parseAmounts(status.allocatedResources) : noAmounts;
    const granted = maxAmounts(actual, allocated);
    // What can never be granted does not count.
    return infeasible ? granted : maxAmounts(asked, granted);
  };
}

interface Sums {
  readonly total: ResourceAmounts;
  readonly each: readonly ContainerAmounts[];
}

function sumContainers(pod: Pod, which: Which, options: PodResourcesOptions): Sums {
  const useStatus = options.useStatusResources ?? false;
  const read = amountsReader(pod, which, useStatus);
  const readSpec = useStatus ? amountsReader(pod, which, false) : read;
  const each: ContainerAmounts[] = [];
  let running = noAmounts;
  for (const container of pod.spec?.containers ?? []) {
    const amounts = read(container);
    running = addAmounts(running, amounts);
    each.push({ kind: 'container', amounts });
  }
  let sidecars = noAmounts;
  let starting = noAmounts;
  for (const container of pod.spec?.initContainers ?? []) {
    let amounts: ResourceAmounts;
    if (isSidecar(container)) {
      const own = read(container);
      running = addAmounts(running, own);
      sidecars = addAmounts(sidecars, own);
      amounts = sidecars;
    } else {
      // Only what keeps running can be resized.
      amounts = addAmounts(readSpec(container), sidecars);
    }
    starting = maxAmounts(starting, amounts);
    each.push({ kind: 'init-container', amounts });
  }
  return { total: maxAmounts(running, starting), each };
}

/** What the containers request together, without pod-level amounts and overhead. */
export function containerRequests(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  return sumContainers(pod, 'requests', options).total;
}

/** What the containers may use together, without pod-level amounts and overhead. */
export function containerLimits(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  return sumContainers(pod, 'limits', options).total;
}

/** The limits container by container; a resource that one of them lacks is not limited for the pod. */
export function limitsByContainer(pod: Pod, options: PodResourcesOptions = {}): readonly ContainerAmounts[] {
  return sumContainers(pod, 'limits', options).each;
}

function withPodLevel(pod: Pod, which: Which, options: PodResourcesOptions): ResourceAmounts {
  const containers = sumContainers(pod, which, options).total;
  if (options.skipPodLevelResources === true) return containers;
  return overrideAmounts(containers, podLevelAmounts(pod, which));
}

/** What the pod requests, overhead included. */
export function podRequests(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  const requests = withPodLevel(pod, 'requests', options);
  if (options.excludeOverhead === true) return requests;
  return addAmounts(requests, parseAmounts(pod.spec?.overhead));
}

/** What the pod may use. Overhead is added only to what is limited at all. */
export function podLimits(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  const limits = withPodLevel(pod, 'limits', options);
  if (options.excludeOverhead === true) return limits;
  const limited = (name: string): boolean => limits.get(name)?.isZero() === false;
  return addAmounts(limits, filterAmounts(parseAmounts(pod.spec?.overhead), limited));
}
