// Chooses which of the available CPUs a container gets. Pure. Upstream: takeByTopologyNUMAPacked and
// takeByTopologyNUMADistributed in pkg/kubelet/cm/cpumanager/cpu_assignment.go.
import { KubeletError } from '../../base/errors.ts';
import type { CpuSet } from './cpu-set.ts';
import type { CpuTopology } from './cpu-topology.ts';

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
  throw new KubeletError(
    'internal',
    'NotImplemented',
    `${topology.numCpus} ${available} ${count} ${strategy.sort}`,
  );
}
