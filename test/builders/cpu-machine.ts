// CPU topologies for tests.
import { type CpuPlace, CpuTopology } from '../../src/resources/cpu/cpu-topology.ts';

interface Shape {
  readonly numaNodes: number;
  readonly coresPerNode: number;
  readonly threads: number;
}

/** One socket per NUMA node. The threads of core n have the IDs n, n + cores, … */
export function aTopology({ coresPerNode, numaNodes, threads }: Shape): CpuTopology {
  const numCores = numaNodes * coresPerNode;
  const places = Array.from({ length: numCores * threads }, (_, cpu): [number, CpuPlace] => {
    const core = cpu % numCores;
    const node = Math.floor(core / coresPerNode);
    return [cpu, { core, numaNode: node, socket: node, uncoreCache: node }];
  });
  const counts = { numCpus: numCores * threads, numCores, numSockets: numaNodes };
  return new CpuTopology(new Map(places), counts);
}
