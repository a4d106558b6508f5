// The order of merged hints: which of two the topology manager takes. Pure.
// Invariant: the order is total, and only equal hints are equal in it, so the best of a set does not depend on the order in
// which the set is visited. Upstream: HintMerger.compare in topologymanager/policy.go, and numa_info.go.
import { bitCount, type NumaMask } from './numa-nodes.ts';

/** A hint that names its nodes. */
export interface PlacedHint {
  readonly mask: NumaMask;
  readonly preferred: boolean;
}

export interface HintOrder {
  /** The fewest nodes on which every resource can be allocated: a hint of this size beats others that are not preferred. */
  readonly nodesNeeded: number;
  /** Between nodes, by position; undefined if distances do not count. */
  readonly distances: readonly (readonly number[])[] | undefined;
}

export function isBetterHint(candidate: PlacedHint, current: PlacedHint, order: HintOrder): boolean {
  if (candidate.preferred !== current.preferred) return candidate.preferred;
  const [size, currentSize] = [bitCount(candidate.mask), bitCount(current.mask)];
  if (size === currentSize) return isFitter(candidate.mask, current.mask, order);
  if (candidate.preferred) return size < currentSize;
  return badness(size, order) < badness(currentSize, order);
}

/** Of two sets of the same size. */
function isFitter(candidate: NumaMask, current: NumaMask, { distances }: HintOrder): boolean {
  if (distances !== undefined) {
    const [sum, currentSum] = [distanceSum(candidate, distances), distanceSum(current, distances)];
    if (sum !== currentSum) return sum < currentSum;
  }
  return candidate < current;
}

/** Best is the size needed, then the largest below it, then the smallest above it. */
function badness(size: number, { nodesNeeded }: HintOrder): number {
  return size <= nodesNeeded ? nodesNeeded - size : nodesNeeded + size;
}

/** Over all ordered pairs, each node with itself included. Upstream compares averages; at equal size that is the same. */
function distanceSum(mask: NumaMask, distances: readonly (readonly number[])[]): number {
  let sum = 0;
  for (let from = mask; from !== 0; from &= from - 1) {
    const row = distances[lowestBit(from)];
    for (let to = mask; to !== 0; to &= to - 1) sum += row?.[lowestBit(to)] ?? 0;
  }
  return sum;
}

function lowestBit(mask: NumaMask): number {
  return 31 - Math.clz32(mask & -mask);
}
