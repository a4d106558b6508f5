// Quantities by resource name, with the arithmetic for pod sums, allocations and node capacity.
// Invariant: arguments are never mutated. Upstream: v1.ResourceList and the helpers around it.
import type { ResourceList } from '../k8s/types.ts';
import { maxQuantity, Quantity } from './quantity.ts';

export type ResourceAmounts = ReadonlyMap<string, Quantity>;

export const noAmounts: ReadonlyMap<string, Quantity> = new Map();

/** Parses a resource list of the API. Throws `invalid` on a malformed quantity. */
export function parseAmounts(list: Readonly<Record<string, string | number>> | undefined): ResourceAmounts {
  return new Map(Object.entries(list ?? {}).map(([name, amount]) => [name, Quantity.fromJson(amount)]));
}

export function formatAmounts(amounts: ResourceAmounts): ResourceList {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()]));
}

/** The amount of one resource; zero if absent. */
export function amountOf(amounts: ResourceAmounts, name: string): Quantity {
  return amounts.get(name) ?? Quantity.zero;
}

function merge(
  first: ResourceAmounts,
  second: ResourceAmounts,
  both: (a: Quantity, b: Quantity) => Quantity,
): ResourceAmounts {
  const merged = new Map(first);
  for (const [name, amount] of second) {
    const known = first.get(name);
    merged.set(name, known === undefined ? amount : both(known, amount));
  }
  return merged;
}

/** The sum per resource. */
export function addAmounts(first: ResourceAmounts, second: ResourceAmounts): ResourceAmounts {
  return merge(first, second, (a, b) => a.add(b));
}

/** The amounts of the first less those of the second, at least zero. */
export function subtractAmounts(first: ResourceAmounts, second: ResourceAmounts): ResourceAmounts {
  const rest = [...first].map(([name, amount]): [string, Quantity] => {
    const left = amount.sub(amountOf(second, name));
    return [name, left.sign() < 0 ? Quantity.zero : left];
  });
  return new Map(rest);
}

/** The larger amount per resource. */
export function maxAmounts(first: ResourceAmounts, second: ResourceAmounts): ResourceAmounts {
  return merge(first, second, maxQuantity);
}

/** The amounts of the first, overridden by those of the second. */
export function overrideAmounts(first: ResourceAmounts, second: ResourceAmounts): ResourceAmounts {
  return merge(first, second, (_old, amount) => amount);
}

export function filterAmounts(amounts: ResourceAmounts, keep: (name: string) => boolean): ResourceAmounts {
  return new Map([...amounts].filter(([name]) => keep(name)));
}

/** Compares by value, ignoring the format. */
export function equalAmounts(first: ResourceAmounts, second: ResourceAmounts): boolean {
  if (first.size !== second.size) return false;
  return [...first].every(([name, amount]) => second.get(name)?.equals(amount) === true);
}
