// On which sets of NUMA nodes a request for memory can be satisfied. Pure.
// Upstream: calculateHints, regenerateHints, findBestHint and extendTopologyManagerHint in
// pkg/kubelet/cm/memorymanager/policy_static.go. Invariant: the same sets hold for every resource of a request.
import type { ResourceHints, TopologyHint } from '../topology/hint-provider.ts';
import { bitCount, type NumaMask, type NumaNodes } from '../topology/numa-nodes.ts';
import { breaksGroups, freeOn, tableOf } from './memory-blocks.ts';
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
  let fewest = numa.ids.length;
  const found: NumaMask[] = [];
  const amounts = [...requests];
  for (const mask of masks) {
    const nodes = numa.idsOf(mask);
    if (amounts.some(([type, bytes]) => allocatableOn(machine, nodes, type) < bytes)) continue;
    fewest = Math.min(fewest, nodes.length);
    if (breaksGroups(machine, nodes) || isInLargerGroup(machine, nodes)) continue;
    const held = reusable.get(mask);
    if (amounts.some(([type, bytes]) => freeOn(machine, nodes, type) + (held?.get(type) ?? 0) < bytes))
      continue;
    found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: bitCount(mask) === fewest }));
}

function allocatableOn(machine: MachineState, nodes: readonly number[], type: string): number {
  return nodes.reduce((sum, node) => sum + (tableOf(machine, node, type)?.allocatable ?? 0), 0);
}

function isInLargerGroup(machine: MachineState, nodes: readonly number[]): boolean {
  const [only] = nodes;
  return nodes.length === 1 && only !== undefined && (machine[only]?.cells.length ?? 0) > 1;
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
  return hints.toSorted(
    (a, b) =>
      Number(b.preferred) - Number(a.preferred) || bitCount(a.mask) - bitCount(b.mask) || a.mask - b.mask,
  )[0];
}

/** The best hint that includes these nodes. */
export function extendMemoryHint(hints: readonly MemoryHint[], mask: NumaMask): MemoryHint | undefined {
  return bestMemoryHint(hints.filter((hint) => (hint.mask & mask) === mask));
}
