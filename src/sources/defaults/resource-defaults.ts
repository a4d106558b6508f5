// Defaults of requests and limits: requests from limits, pod-level resources from the containers. Mutates its argument, which
// is a copy of the caller's. Invariant: amounts keep their spelling, since the UID depends on it; they are rounded later.
// Upstream: pkg/apis/core/v1 (SetDefaults_Pod), component-helpers/resource.
import type { Container, PodSpec, ResourceList } from '../../api/k8s/types.ts';
import { isHugePages } from '../../api/quantity/huge-pages.ts';
import { maxQuantity, Quantity } from '../../api/quantity/quantity.ts';

export function requestsFromLimits(container: Pick<Container, 'resources'>): void {
  const resources = container.resources;
  if (resources?.limits === undefined) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

/** Completes the pod-level requests and limits if the manifest has some of them. */
// differs from upstream: since 1.37 only the API server completes them, when it creates the pod, so a static pod and its mirror
// pod may have different QoS classes there. Here both are complete, and a static pod keeps its class across the upgrade.
export function defaultPodResources(spec: PodSpec): void {
  const resources = spec.resources;
  if (resources === undefined) return;
  if (isEmpty(resources.limits) && isEmpty(resources.requests)) return;
  const limits = { ...resources.limits };
  for (const [name, amount] of Object.entries(aggregate(spec, 'limits')))
    if (isHugePages(name) && resources.requests?.[name] === undefined) limits[name] ??= amount;
  if (isEmpty(limits)) return;
  resources.limits = limits;
  const requests = { ...resources.requests };
  for (const [name, amount] of Object.entries(aggregate(spec, 'requests')))
    if (isComputeResource(name)) requests[name] ??= amount;
  for (const [name, amount] of Object.entries(limits)) if (isPodLevel(name)) requests[name] ??= amount;
  if (!isEmpty(requests)) resources.requests = requests;
}

/** The maximum that all containers need at any time: sidecars keep running, other init containers run one at a time. */
export function aggregate(spec: PodSpec, kind: 'requests' | 'limits'): ResourceList {
  const total = new Map<string, Quantity>();
  const sidecars = new Map<string, Quantity>();
  const peak = new Map<string, Quantity>();
  for (const container of spec.containers) add(total, container.resources?.[kind]);
  for (const container of spec.initContainers ?? []) {
    const own = container.resources?.[kind];
    if (container.restartPolicy === 'Always') {
      add(total, own);
      add(sidecars, own);
      raise(peak, sidecars);
    } else {
      const now = new Map<string, Quantity>();
      add(now, own);
      for (const [name, amount] of sidecars) now.set(name, now.get(name)?.add(amount) ?? amount);
      raise(peak, now);
    }
  }
  raise(total, peak);
  return Object.fromEntries([...total].map(([name, amount]) => [name, amount.toString()]));
}

function add(sum: Map<string, Quantity>, list: ResourceList | undefined): void {
  for (const [name, text] of Object.entries(list ?? {})) {
    const amount = Quantity.parse(text);
    sum.set(name, sum.get(name)?.add(amount) ?? amount);
  }
}

function raise(floor: Map<string, Quantity>, list: ReadonlyMap<string, Quantity>): void {
  for (const [name, amount] of list) floor.set(name, maxQuantity(floor.get(name) ?? amount, amount));
}

function isEmpty(list: ResourceList | undefined): boolean {
  return list === undefined || Object.keys(list).length === 0;
}

function isComputeResource(name: string): boolean {
  return name === 'cpu' || name === 'memory';
}

function isPodLevel(name: string): boolean {
  return isComputeResource(name) || isHugePages(name);
}
