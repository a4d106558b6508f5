// Merges the hints of all providers into the one that they have to allocate by. Pure.
// Upstream: Merge of the policies in pkg/kubelet/cm/topologymanager. Upstream walks every combination of one hint per resource,
// which are 255^n on eight NUMA nodes; here only the distinct outcomes of the combinations are computed, with the same result.
// Invariant: the work is bounded by the number of hints and of sets of nodes, not by their product over resources.

import { type HintOrder, isBetterHint, type PlacedHint } from './hint-order.ts';
import type { ResourceHints, TopologyHint } from './hint-provider.ts';
import { bitCount, type NumaMask, type NumaNodes } from './numa-nodes.ts';
import type { TopologyPolicy } from './topology-policy.ts';

interface MergedHint {
  readonly hint: TopologyHint;
  /** Whether the policy admits a pod with this hint. */
  readonly admit: boolean;
}

type HintList = readonly TopologyHint[];

const anywhere: HintList = [{ mask: undefined, preferred: true }];
const nowhere: HintList = [{ mask: undefined, preferred: false }];

/** What the policy "none" hands to the providers, as upstream's empty hint. */
export const unalignedHint: TopologyHint = { mask: undefined, preferred: false };

export function computeMergedHint(
  providers: readonly ResourceHints[],
  policy: TopologyPolicy,
  numa: Pick<NumaNodes, 'all' | 'distances'>,
): MergedHint {
  if (policy.name === 'none') return { hint: unalignedHint, admit: true };
  const isSingleNode = policy.name === 'single-numa-node';
  const lists = providers.flatMap(hintLists).map((list) => (isSingleNode ? onOneNode(list) : list));
  const { all } = numa;
  const order = {
    nodesNeeded: Math.max(0, ...lists.map(fewestNodes)),
    distances: policy.preferClosest && !isSingleNode ? numa.distances : undefined,
  };
  const best =
    bestOf(preferredMasks(lists, all), true, order) ??
    // Without a preferred combination every other one is not preferred.
    bestOf(possibleMasks(lists, all), false, order) ??
    ({ mask: all, preferred: false } satisfies PlacedHint);
  const hint = isSingleNode && best.mask === all ? { mask: undefined, preferred: best.preferred } : best;
  return { hint, admit: policy.name === 'best-effort' || hint.preferred };
}

/** One list per resource. */
function hintLists(hints: ResourceHints): readonly HintList[] {
  if (hints.size === 0) return [anywhere];
  return [...hints.values()].map((list) => {
    if (list === undefined) return anywhere;
    return list.length === 0 ? nowhere : list;
  });
}

function onOneNode(list: HintList): HintList {
  return list.filter(({ mask, preferred }) => preferred && (mask === undefined || bitCount(mask) === 1));
}

/** 0 if the resource has no hint with a mask. */
function fewestNodes(list: HintList): number {
  let fewest = Number.POSITIVE_INFINITY;
  for (const { mask } of list) if (mask !== undefined) fewest = Math.min(fewest, bitCount(mask));
  return fewest === Number.POSITIVE_INFINITY ? 0 : fewest;
}

/** A combination is preferred if all of its hints are, and those that have a mask have the same one. */
function preferredMasks(lists: readonly HintList[], all: NumaMask): readonly NumaMask[] {
  /** The masks that combinations up to this list share; undefined: none of their hints has a mask. */
  let shared: ReadonlySet<NumaMask | undefined> = new Set([undefined]);
  for (const list of lists) {
    const own = new Set<NumaMask | undefined>();
    for (const { mask, preferred } of list) if (preferred) own.add(mask);
    const next = new Set<NumaMask | undefined>();
    for (const mask of shared) if (own.has(undefined) || own.has(mask)) next.add(mask);
    if (shared.has(undefined)) for (const mask of own) next.add(mask);
    shared = next;
  }
  return [...shared].map((mask) => (mask ?? all) & all);
}

/** The masks that are the intersection of one mask per list. */
function possibleMasks(lists: readonly HintList[], all: NumaMask): readonly NumaMask[] {
  let possible: Float64Array | undefined;
  for (const list of lists) {
    const own = new Float64Array(all + 1);
    for (const { mask } of list) own[(mask ?? all) & all] = 1;
    possible = possible === undefined ? own : intersections(possible, own);
  }
  const masks: NumaMask[] = [];
  for (let mask = 1; mask <= all; mask += 1) if (possible?.[mask] === 1) masks.push(mask);
  return masks;
}

/**
 * Which masks are the intersection of a mask in `some` and one in `others` (1 at every mask that is in). Counts pairs by the
 * masks that both contain: a pair whose intersection contains a mask is a pair of which both contain it. The counts stay below
 * 2^32 with 16 nodes, so they are exact. Changes both.
 */
function intersections(some: Float64Array, others: Float64Array): Float64Array {
  sumSupersets(some, 1);
  sumSupersets(others, 1);
  for (let mask = 0; mask < some.length; mask += 1) some[mask] = (some[mask] ?? 0) * (others[mask] ?? 0);
  sumSupersets(some, -1);
  for (let mask = 0; mask < some.length; mask += 1) some[mask] = some[mask] === 0 ? 0 : 1;
  return some;
}

/** Adds to the value of each mask those of all masks that contain it; with the sign -1, the inverse. */
function sumSupersets(values: Float64Array, sign: 1 | -1): void {
  for (let bit = 1; bit < values.length; bit *= 2)
    for (let from = 0; from < values.length; from += 2 * bit)
      for (let mask = from; mask < from + bit; mask += 1)
        values[mask] = (values[mask] ?? 0) + sign * (values[mask + bit] ?? 0);
}

/** Undefined if no mask has a node. */
function bestOf(masks: readonly NumaMask[], preferred: boolean, order: HintOrder): PlacedHint | undefined {
  let best: PlacedHint | undefined;
  for (const mask of masks) {
    if (mask === 0) continue;
    const candidate = { mask, preferred };
    if (best === undefined || isBetterHint(candidate, best, order)) best = candidate;
  }
  return best;
}
