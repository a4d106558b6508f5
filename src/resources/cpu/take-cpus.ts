// Chooses which of the available CPUs a container gets. Pure. Upstream: takeByTopologyNUMAPacked and
// takeByTopologyNUMADistributed in pkg/kubelet/cm/cpumanager/cpu_assignment.go.
// Invariant: the result is a subset of the available CPUs and has exactly the requested size.
import { KubeletError } from '../../base/errors.ts';
import { CpuAccumulator } from './cpu-accumulator.ts';
import type { CpuSet } from './cpu-set.ts';
import type { CpuTopology } from './cpu-topology.ts';
import { computeDistribution } from './distribute-cpus.ts';

export interface CpuStrategy {
  /** packed: whole cores first. spread (distribute-cpus-across-cores): single CPUs in the order of their IDs in each socket. */
  readonly sort: 'packed' | 'spread';
  /** prefer-align-cpus-by-uncorecache; ignored with `distribute`, as upstream. */
  readonly preferAlignByUncoreCache: boolean;
  /** distribute-cpus-across-numa. */
  readonly distribute?: {
    /** CPUs are given in multiples of this: the threads per core with full-pcpus-only, else 1. */
    readonly groupSize: number;
    readonly alignBySocket: boolean;
  };
}

/** Throws upstream's error if there are not enough CPUs. */
export function takeCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  strategy: CpuStrategy,
): CpuSet {
  const { distribute, preferAlignByUncoreCache, sort } = strategy;
  if (distribute === undefined) return takePacked(topology, available, count, sort, preferAlignByUncoreCache);
  return takeDistributed(topology, available, count, sort, distribute);
}

function takePacked(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  sort: CpuStrategy['sort'],
  preferAlignByUncoreCache: boolean,
): CpuSet {
  const step = start(topology, available, count);
  const outer = topology.numSockets >= topology.numNumaNodes ? 'numaNode' : 'socket';
  if (!step.isSatisfied) step.takeWhole(outer);
  if (!step.isSatisfied) step.takeWhole(outer === 'socket' ? 'numaNode' : 'socket');
  if (preferAlignByUncoreCache) takeUncoreCaches(step, topology.cpusPerUncoreCache);
  if (!step.isSatisfied && sort === 'packed') step.takeWhole('core');
  if (!step.isSatisfied) step.takeRemaining(sort);
  return step.taken;
}

function takeUncoreCaches(step: CpuAccumulator, perCache: number): void {
  if (step.isSatisfied) return;
  for (const cache of step.uncoreCaches()) {
    if (step.needed >= perCache) step.takeWhole('uncoreCache');
    if (!step.isSatisfied) step.takePartOfCache(cache);
    if (step.isSatisfied) return;
  }
}

function takeDistributed(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  sort: CpuStrategy['sort'],
  { alignBySocket, groupSize }: NonNullable<CpuStrategy['distribute']>,
): CpuSet {
  if (count % groupSize !== 0) return takePacked(topology, available, count, sort, false);
  const step = start(topology, available, count);
  if (step.isSatisfied) return step.taken;
  const shares = computeDistribution({
    nodes: step.numaNodes().map((id) => ({ id, free: step.freeIn('numaNode', id).size })),
    count,
    groupSize,
    machine: { cpus: topology.cpus.size, numaNodes: topology.numNumaNodes },
    ...(alignBySocket && { isInOneSocket: (ids) => topology.socketsInNumaNodes(ids).length <= 1 }),
  });
  if (shares === undefined) return takePacked(topology, available, count, sort, false);
  for (const { id, cpus } of shares)
    step.take(takePacked(topology, step.freeIn('numaNode', id), cpus, sort, false));
  return step.taken;
}

function start(topology: CpuTopology, available: CpuSet, count: number): CpuAccumulator {
  const step = new CpuAccumulator(topology, available, count);
  if (step.isFailed && count > 0)
    throw new KubeletError(
      'conflict',
      'UnexpectedAdmissionError',
      `not enough cpus available to satisfy request: requested=${count}, available=${available.size}`,
    );
  return step;
}
