// On which sets of NUMA nodes a number of exclusive CPUs can be placed. Pure.
// Upstream: generateCPUTopologyHints in pkg/kubelet/cm/cpumanager/policy_static.go.
import type { TopologyHint } from '../topology/hint-provider.ts';
import { bitCount, type NumaMask, type NumaNodes } from '../topology/numa-nodes.ts';
import type { CpuSet } from './cpu-set.ts';
import type { CpuTopology } from './cpu-topology.ts';

interface CpuHintsInput {
  readonly topology: CpuTopology;
  readonly numa: NumaNodes;
  readonly request: number;
  readonly available: CpuSet;
  /** CPUs that the pod already has; a hint includes the NUMA nodes of all of them. Not part of `available`. */
  readonly reusable: CpuSet;
  readonly options: { readonly alignBySocket: boolean };
}

/** Smaller sets of nodes first. Preferred are those of the least size that the machine, empty, would need. */
export function computeCpuHints(input: CpuHintsInput): readonly TopologyHint[] {
  const { available, numa, options, request, reusable, topology } = input;
  const positions = numa.ids.map((id) => topology.units.numaNode.get(id));
  const capacity = sums(positions.map((cpus) => cpus?.size ?? 0));
  const free = sums(positions.map((cpus) => cpus?.overlap(available) ?? 0));
  const required = numa.maskOf(topology.numaNodesOf(reusable));
  const nodes = numa.maskOf(topology.numaNodes);
  let least = topology.numNumaNodes;
  const masks: NumaMask[] = [];
  for (const mask of numa.subsets(nodes)) {
    if ((capacity[mask] ?? 0) >= request) least = Math.min(least, bitCount(mask));
    const fits = reusable.size + (free[mask] ?? 0) >= request;
    if ((mask & required) === required && fits) masks.push(mask);
  }
  const isAligned = options.alignBySocket ? socketAlignment(input, least) : () => false;
  return masks.map((mask) => ({ mask, preferred: bitCount(mask) === least || isAligned(mask) }));
}

/** Whether a set of nodes spans only as many sockets as the least number of nodes needs. */
function socketAlignment({ numa, topology }: CpuHintsInput, least: number): (mask: NumaMask) => boolean {
  const nodesPerSocket = Math.floor(topology.numNumaNodes / topology.numSockets);
  if (nodesPerSocket === 0) return () => false;
  const leastSockets = Math.ceil(least / nodesPerSocket);
  const sockets = numa.ids.map((id) => topology.socketsInNumaNodes([id]));
  return (mask) => {
    const spanned = new Set(sockets.flatMap((ids, at) => ((mask & (1 << at)) === 0 ? [] : ids)));
    return spanned.size === leastSockets;
  };
}

/** The sum of the values at the positions of each mask. */
function sums(values: readonly number[]): readonly number[] {
  const found = [0];
  for (let mask = 1; mask < 2 ** values.length; mask += 1) {
    const lowest = 31 - Math.clz32(mask & -mask);
    found.push((found[mask & (mask - 1)] ?? 0) + (values[lowest] ?? 0));
  }
  return found;
}
