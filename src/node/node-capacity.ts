// Computes the node's capacity and allocatable. Pure. Upstream: MachineInfo in pkg/kubelet/nodestatus/setters.go.
// Invariants: extended resources set by others are kept; no allocatable amount is negative.

import type { ResourceList } from '../api/k8s/types.ts';
import { isExtendedResource } from '../api/quantity/extended-resources.ts';
import { isHugePages } from '../api/quantity/huge-pages.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import { amountOf, type ResourceAmounts } from '../api/quantity/resource-amounts.ts';
import type { NodeResources } from './node-facts.ts';
import type { NodeSettings } from './node-settings.ts';

interface NodeAmounts {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
}

export function computeAmounts(
  before: Partial<NodeAmounts>,
  resources: NodeResources,
  settings: Pick<NodeSettings, 'maxPods' | 'podsPerCore'>,
): NodeAmounts {
  const found = resources.capacity();
  const devices = resources.devices?.();
  const capacity: ResourceList = {
    ...before.capacity,
    ...texts(found),
    pods: String(podsOf(found, settings)),
    ...texts(devices?.capacity ?? new Map()),
    ...Object.fromEntries((devices?.removed ?? []).map((name) => [name, '0'])),
  };
  const allocatable = {
    ...kept(before.allocatable ?? {}, capacity),
    ...remaining(capacity, resources.reservation()),
    ...texts(devices?.allocatable ?? new Map()),
  };
  return { capacity, allocatable: { ...allocatable, ...withoutHugePages(capacity, allocatable) } };
}

function podsOf(
  found: ResourceAmounts,
  { maxPods, podsPerCore }: Pick<NodeSettings, 'maxPods' | 'podsPerCore'>,
): number {
  const cores = Number(amountOf(found, 'cpu').value());
  return podsPerCore > 0 ? Math.min(cores * podsPerCore, maxPods) : maxPods;
}

/** Drops extended resources that are no longer in the capacity. */
function kept(allocatable: ResourceList, capacity: ResourceList): ResourceList {
  return Object.fromEntries(
    Object.entries(allocatable).filter(([name]) => name in capacity || !isExtendedResource(name)),
  );
}

function remaining(capacity: ResourceList, reserved: ResourceAmounts): ResourceList {
  return Object.fromEntries(
    Object.entries(capacity).map(([name, text]) => {
      const reservation = reserved.get(name);
      if (reservation === undefined) return [name, text];
      return [name, atLeastZero(Quantity.parse(text).sub(reservation)).toString()];
    }),
  );
}

/** Memory reserved for huge pages is not allocatable as regular memory. */
function withoutHugePages(capacity: ResourceList, allocatable: ResourceList): ResourceList {
  const memory = allocatable['memory'];
  if (memory === undefined) return {};
  const pages = Object.entries(capacity).filter(([name]) => isHugePages(name));
  const rest = pages.reduce((left, [, text]) => left.sub(Quantity.parse(text)), Quantity.parse(memory));
  return { memory: atLeastZero(rest).toString() };
}

function atLeastZero(amount: Quantity): Quantity {
  return amount.sign() < 0 ? Quantity.of(0, amount.format) : amount;
}

function texts(amounts: ResourceAmounts): ResourceList {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()]));
}
