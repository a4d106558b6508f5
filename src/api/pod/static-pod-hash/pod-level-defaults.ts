// Pod-level resources that were added by defaulting. In memory, a sum of container requests differs from the quantity parsed
// from its text, so these amounts are recomputed from the containers. Invariant: the arguments are never mutated.
// Upstream: pkg/apis/core/v1/defaults.go (defaultHugePagePodLimits, defaultPodRequests),
// component-helpers/resource (AggregateContainerRequests, AggregateContainerLimits).
import type { Container, Pod } from '../../k8s/types.ts';
import { isHugePages } from '../../quantity/huge-pages.ts';
import { addGoQuantities, type GoQuantity, maxGoQuantity, readGoQuantity } from './go-quantity.ts';
import type { JsonObject } from './json-value.ts';

type Amounts = ReadonlyMap<string, GoQuantity>;

/** The in-memory pod-level resources; undefined if the manifest has none. */
export function podLevelResources(pod: Pod, written: Pod): JsonObject | undefined {
  const asked = written.spec?.resources;
  const resources = pod.spec?.resources;
  if (asked === undefined || asked === null || resources === undefined) return undefined;
  const limits = readAll(asked.limits);
  const requests = readAll(asked.requests);
  if (limits.size > 0 || requests.size > 0) {
    addMissing(limits, aggregate(pod, 'limits'), (name) => isHugePages(name) && !requests.has(name));
  }
  if (limits.size > 0) {
    addMissing(requests, aggregate(pod, 'requests'), isComputeResource);
    addMissing(requests, limits, (name) => isComputeResource(name) || isHugePages(name));
  }
  return {
    ...(resources as JsonObject),
    limits: orAsWritten(limits, asked.limits),
    requests: orAsWritten(requests, asked.requests),
  };
}

function readAll(list: JsonObject | null | undefined): Map<string, GoQuantity> {
  return new Map(Object.entries(list ?? {}).map(([name, amount]) => [name, readGoQuantity(amount)]));
}

function isComputeResource(name: string): boolean {
  return name === 'cpu' || name === 'memory';
}

function addMissing(target: Map<string, GoQuantity>, added: Amounts, which: (name: string) => boolean): void {
  for (const [name, amount] of added) if (which(name) && !target.has(name)) target.set(name, amount);
}

/** An absent list stays absent unless it gained an entry; an empty one stays empty. */
function orAsWritten(amounts: Amounts, asked: JsonObject | undefined): JsonObject | undefined {
  return amounts.size > 0 ? Object.fromEntries(amounts) : asked;
}

/** The aggregate of the containers: the sum of those that run at once, the maximum over init containers. */
function aggregate(pod: Pod, which: 'limits' | 'requests'): Amounts {
  const { containers, initContainers } = pod.spec ?? {};
  const total = new Map<string, GoQuantity>();
  const sidecars = new Map<string, GoQuantity>();
  const highest = new Map<string, GoQuantity>();
  for (const container of containers ?? []) combine(total, amountsOf(container, which), addGoQuantities);
  for (const container of initContainers ?? []) {
    const own = amountsOf(container, which);
    if (container.restartPolicy === 'Always') {
      combine(total, own, addGoQuantities);
      combine(sidecars, own, addGoQuantities);
      combine(highest, sidecars, maxGoQuantity);
    } else {
      const together = new Map(own);
      combine(together, sidecars, addGoQuantities);
      combine(highest, together, maxGoQuantity);
    }
  }
  combine(total, highest, maxGoQuantity);
  return total;
}

function amountsOf(container: Container, which: 'limits' | 'requests'): Amounts {
  return readAll(container.resources?.[which]);
}

function combine(
  target: Map<string, GoQuantity>,
  added: Amounts,
  how: (one: GoQuantity, other: GoQuantity) => GoQuantity,
): void {
  for (const [name, amount] of added) {
    const present = target.get(name);
    target.set(name, present === undefined ? amount : how(present, amount));
  }
}
