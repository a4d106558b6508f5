// On which sets of NUMA nodes a request for memory can be satisfied. Pure.
// Upstream: calculateHints, regenerateHints, findBestHint and extendTopologyManagerHint in
// pkg/kubelet/cm/memorymanager/policy_static.go. Invariant: the same sets hold for every resource of a request.
import type { ResourceHints, TopologyHint } from '../topology/hint-provider.ts';
import { bitCount, type NumaMask, type NumaNodes } from '../topology/numa-nodes.ts';
import { tableOf } from './memory-blocks.ts';
import type { MemoryRequests } from './memory-requests.ts';
import type { MachineState, MemoryBlock } from './memory-state.ts';

/** Where memory can be placed. */
export interface MemoryNodes {
  readonly numa: NumaNodes;
  /** All sets of nodes; enumerated once. */
  readonly masks: readonly NumaMask[];
}

/** A hint of the memory manager itself always names nodes. */
export interface MemoryHint extends TopologyHint {
  readonly mask: NumaMask;
}

/** Bytes by resource that ended init containers hold on exactly these nodes. */
export type ReusableMemory = ReadonlyMap<NumaMask, ReadonlyMap<string, number>>;

export const noHints: ReadonlyMap<string, readonly TopologyHint[] | undefined> = new Map();

/**
 * Every set of nodes that can satisfy the request now. Preferred are those with as few nodes as an empty machine would need.
 * A page size that the machine does not have is on no node.
 */
export function computeMemoryHints(
  { masks, numa }: MemoryNodes,
  machine: MachineState,
  requests: MemoryRequests,
  reusable: ReusableMemory = new Map(),
): readonly MemoryHint[] {
  const isTogether = groupRule(numa, machine);
  const amounts = [...requests].map(([type, bytes]) => ({
    type,
    bytes,
    allocatable: sumsByMask(numa, (node) => tableOf(machine, node, type)?.allocatable ?? 0),
    free: sumsByMask(numa, (node) => tableOf(machine, node, type)?.free ?? 0),
  }));
  let fewest = numa.ids.length;
  const found: NumaMask[] = [];
  for (const mask of masks) {
    if (amounts.some(({ allocatable, bytes }) => (allocatable[mask] ?? 0) < bytes)) continue;
    fewest = Math.min(fewest, bitCount(mask));
    if (!isTogether(mask)) continue;
    const held = reusable.get(mask);
    if (amounts.some(({ bytes, free, type }) => (free[mask] ?? 0) + (held?.get(type) ?? 0) < bytes)) continue;
    found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: bitCount(mask) === fewest }));
}

/** The sum over the nodes of every set: a machine with 16 nodes has 65,535 of them. */
function sumsByMask(numa: NumaNodes, amountOf: (node: number) => number): Float64Array {
  const amounts = numa.ids.map(amountOf);
  const sums = new Float64Array(2 ** amounts.length);
  for (let mask = 1; mask < sums.length; mask += 1) {
    const lowest = 31 - Math.clz32(mask & -mask);
    sums[mask] = (sums[mask & (mask - 1)] ?? 0) + (amounts[lowest] ?? 0);
  }
  return sums;
}

/** A node in a group is used only with exactly that group; a node that is used by itself, only by itself. */
function groupRule(numa: NumaNodes, machine: MachineState): (mask: NumaMask) => boolean {
  const used = numa.ids.flatMap((id) => {
    const { cells = [], numberOfAssignments = 0 } = machine[id] ?? {};
    const isUsed = numberOfAssignments > 0 || cells.length > 1;
    return isUsed ? [{ bit: numa.maskOf([id]), group: numa.maskOf(cells) }] : [];
  });
  return (mask) => used.every(({ bit, group }) => (mask & bit) === 0 || mask === group);
}

/**
 * Upstream's form for the topology manager: without any possible set there is no entry, which counts as no preference. The pod
 * is then rejected by the allocation (UnexpectedAdmissionError), not by the topology manager.
 */
export function hintsByType(requests: MemoryRequests, hints: readonly MemoryHint[]): ResourceHints {
  return hints.length === 0 ? noHints : new Map([...requests.keys()].map((type) => [type, hints]));
}

/** The hints of a container that has memory already; none if it is not what it requests now. */
export function hintsOfBlocks(
  numa: NumaNodes,
  blocks: readonly MemoryBlock[],
  requests: MemoryRequests,
): ResourceHints {
  if (blocks.length !== requests.size) return noHints;
  if (blocks.some(({ size, type }) => requests.get(type) !== size)) return noHints;
  const of = (type: string): readonly TopologyHint[] =>
    blocks
      .filter((block) => block.type === type)
      .map(({ numaAffinity }) => ({ mask: numa.maskOf(numaAffinity), preferred: true }));
  return new Map([...requests.keys()].map((type) => [type, of(type)]));
}

/** Preferred ones first, then those with fewer nodes, then those with lower nodes. */
export function bestMemoryHint(hints: readonly MemoryHint[]): MemoryHint | undefined {
  let best: MemoryHint | undefined;
  for (const hint of hints) if (best === undefined || compareHints(hint, best) < 0) best = hint;
  return best;
}

function compareHints(a: MemoryHint, b: MemoryHint): number {
  const byPreference = Number(b.preferred) - Number(a.preferred);
  return byPreference || bitCount(a.mask) - bitCount(b.mask) || a.mask - b.mask;
}

/** The best hint that includes these nodes. */
export function extendMemoryHint(hints: readonly MemoryHint[], mask: NumaMask): MemoryHint | undefined {
  return bestMemoryHint(hints.filter((hint) => (hint.mask & mask) === mask));
}
