// The NUMA nodes, CPUs and caches of the machine. Types only: edge/machine reads them, the CPU, memory and topology managers use
// them. Upstream: MachineInfo of cadvisor's info/v1.

interface MachineThread {
  readonly id: number;
  /** The kernel's core ID, unique within a socket only. */
  readonly core: number;
  readonly socket: number;
}

export interface MachineCache {
  /** As the kernel numbers it; undefined if the kernel does not. */
  readonly id: number | undefined;
  readonly level: number;
  /** Data, Instruction, Unified. */
  readonly type: string;
  readonly sizeBytes: bigint;
  readonly threads: readonly number[];
}

export interface NumaNode {
  readonly id: number;
  readonly memoryBytes: bigint;
  readonly hugePages: readonly { readonly sizeBytes: bigint; readonly count: bigint }[];
  /** To each node, itself included, in the order of their IDs. 10 is the distance to itself. */
  readonly distances: readonly number[];
  readonly threads: readonly MachineThread[];
  readonly caches: readonly MachineCache[];
}

export interface MachineTopology {
  readonly sockets: number;
  readonly cores: number;
  readonly threads: number;
  /** In the order of their IDs, which may have gaps. */
  readonly nodes: readonly NumaNode[];
}
