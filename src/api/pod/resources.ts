// The requests and limits of a whole pod: the sum of its containers, the maximum over its init containers, sidecars from their
// start on, overhead on top; pod-level resources take precedence. Pure. Must agree with the scheduler, or the kubelet rejects
// pods that were scheduled here. Upstream: component-helpers/resource (PodRequests, PodLimits).
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
  /** Ignore spec.resources, as without the gate PodLevelResources. */
  readonly skipPodLevelResources?: boolean;
  readonly excludeOverhead?: boolean;
  /** During an in-place resize, count the actual or allocated resources of a container if they exceed its spec. */
  readonly useStatusResources?: boolean;
}

/** The pod's need while this container runs; for an init container including the sidecars before it. */
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

/** Whether the pod has pod-level resources. */
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

/** The amounts of a container: those of its spec, or during a resize the maximum of spec, status and allocation. */
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
    // An infeasible request does not count.
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
      // Plain init containers are not resized.
      amounts = addAmounts(readSpec(container), sidecars);
    }
    starting = maxAmounts(starting, amounts);
    each.push({ kind: 'init-container', amounts });
  }
  return { total: maxAmounts(running, starting), each };
}

/** The containers' requests, without pod-level resources and overhead. */
export function containerRequests(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  return sumContainers(pod, 'requests', options).total;
}

/** The containers' limits, without pod-level resources and overhead. */
export function containerLimits(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  return sumContainers(pod, 'limits', options).total;
}

/** Limits per container. A resource that one of them does not limit is unlimited for the pod. */
export function limitsByContainer(pod: Pod, options: PodResourcesOptions = {}): readonly ContainerAmounts[] {
  return sumContainers(pod, 'limits', options).each;
}

function withPodLevel(pod: Pod, which: Which, options: PodResourcesOptions): ResourceAmounts {
  const containers = sumContainers(pod, which, options).total;
  if (options.skipPodLevelResources === true) return containers;
  return overrideAmounts(containers, podLevelAmounts(pod, which));
}

/** The pod's requests, including overhead. */
export function podRequests(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  const requests = withPodLevel(pod, 'requests', options);
  if (options.excludeOverhead === true) return requests;
  return addAmounts(requests, parseAmounts(pod.spec?.overhead));
}

/** The pod's limits. Overhead is added only to limited resources. */
export function podLimits(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  const limits = withPodLevel(pod, 'limits', options);
  if (options.excludeOverhead === true) return limits;
  const limited = (name: string): boolean => limits.get(name)?.isZero() === false;
  return addAmounts(limits, filterAmounts(parseAmounts(pod.spec?.overhead), limited));
}
