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
  subtractAmounts,
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

type Reader = (container: Container) => ResourceAmounts;

/**
 * The amounts of a container in turn as specified, as allocated and as actuated; only the first without `useStatusResources`.
 * The pod counts for the largest of the sums. An infeasible spec does not count.
 */
function readers(pod: Pod, which: Which, useStatus: boolean): readonly Reader[] {
  const specified: Reader = ({ resources }) => parseAmounts(resources?.[which]);
  if (!useStatus) return [specified];
  const statuses = statusesByName(pod);
  const infeasible = isResizeInfeasible(pod);
  const otherwise: Reader = infeasible ? () => noAmounts : specified;
  const allocated: Reader = (container) => {
    const list = statuses.get(container.name)?.allocatedResources;
    return list === undefined || which === 'limits' ? otherwise(container) : parseAmounts(list);
  };
  const actuated: Reader = (container) => {
    const list = statuses.get(container.name)?.resources?.[which];
    return list === undefined ? allocated(container) : parseAmounts(list);
  };
  return [...(infeasible ? [] : [specified]), allocated, actuated];
}

interface Sums {
  readonly total: ResourceAmounts;
  readonly each: readonly ContainerAmounts[];
}

function sumContainers(pod: Pod, read: Reader): Sums {
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
    const own = read(container);
    let amounts = addAmounts(own, sidecars);
    if (isSidecar(container)) {
      running = addAmounts(running, own);
      sidecars = addAmounts(sidecars, own);
      amounts = sidecars;
    }
    starting = maxAmounts(starting, amounts);
    each.push({ kind: 'init-container', amounts });
  }
  return { total: maxAmounts(running, starting), each };
}

function totalOf(pod: Pod, which: Which, options: PodResourcesOptions): ResourceAmounts {
  const totals = readers(pod, which, options.useStatusResources ?? false).map(
    (read) => sumContainers(pod, read).total,
  );
  return totals.reduce(maxAmounts, noAmounts);
}

/** The containers' requests, without pod-level resources and overhead. */
export function containerRequests(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  return totalOf(pod, 'requests', options);
}

/** The containers' limits, without pod-level resources and overhead. */
export function containerLimits(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  return totalOf(pod, 'limits', options);
}

/** Limits per container. A resource that one of them does not limit is unlimited for the pod. */
export function limitsByContainer(pod: Pod): readonly ContainerAmounts[] {
  return sumContainers(pod, ({ resources }) => parseAmounts(resources?.limits)).each;
}

function withPodLevel(pod: Pod, which: Which, options: PodResourcesOptions): ResourceAmounts {
  const containers = totalOf(pod, which, options);
  if (options.skipPodLevelResources === true) return containers;
  const own = podLevelAmounts(pod, which);
  const useStatus = options.useStatusResources === true && pod.status?.resources !== undefined;
  if (own.size === 0 || !useStatus) return overrideAmounts(containers, own);
  const granted = filterAmounts(grantedToPod(pod, which), isPodLevelResource);
  return overrideAmounts(containers, isResizeInfeasible(pod) ? granted : maxAmounts(own, granted));
}

/**
 * The pod-level amounts that the status reports as allocated and as actuated.
 * differs from upstream: they include the pod's overhead, which upstream counts a second time.
 */
function grantedToPod({ spec, status }: Pod, which: Which): ResourceAmounts {
  const actuated = parseAmounts(status?.resources?.[which]);
  const allocated = which === 'requests' ? parseAmounts(status?.allocatedResources) : noAmounts;
  return subtractAmounts(maxAmounts(actuated, allocated), parseAmounts(spec?.overhead));
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
