// Usage and limits of a cgroup, independent of the cgroup version. Types only; edge/stats reads them.
// Upstream: cadvisor's ContainerStats and ContainerSpec over opencontainers/cgroups.

/** One line of a PSI file: how long tasks were stalled. */
export interface PressureLine {
  readonly totalUs: number;
  /** Percentage of the last 10, 60 and 300 seconds. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** Some: at least one task was stalled. Full: all were. */
export interface Pressure {
  readonly some: PressureLine;
  readonly full: PressureLine;
}

export interface MemoryUsage {
  readonly usageBytes: number;
  /** Usage without inactive file pages, which the kernel can reclaim at once. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly swapBytes: number;
  /** Including descendants. */
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  /** Infinity: no limit. */
  readonly limitBytes: number;
  /** Swap only. Infinity: no limit; undefined: the kernel does not account swap. */
  readonly swapLimitBytes: number | undefined;
}

/** What eviction decides by, which needs the fewest files. */
export type MemoryLoad = Pick<MemoryUsage, 'usageBytes' | 'workingSetBytes' | 'limitBytes'>;

/** Two figures for a plot, by the fewest reads. */
export interface CgroupLoad {
  /** Since the cgroup was created. */
  readonly cpuNs: number | undefined;
  readonly workingSetBytes: number | undefined;
}

/** The figures of every collection, which need few files. */
export interface CgroupUsage {
  /** From the root of the hierarchy; `/` is the machine. */
  readonly path: string;
  readonly atMs: number;
  readonly cpuNs: number | undefined;
  readonly memory: MemoryUsage | undefined;
  /** Undefined if the kernel has no PSI for this cgroup. */
  readonly pressure: { readonly cpu: Pressure; readonly memory: Pressure; readonly io: Pressure } | undefined;
  /** Without descendants. */
  readonly processes: number;
}

export interface DeviceIo {
  /** `/dev/vda`; empty if no disk has these device numbers any longer. */
  readonly device: string;
  readonly major: number;
  readonly minor: number;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** What the kernel did to keep a cgroup within its memory. Zero where the kernel has no such figure. */
export interface MemoryReclaim {
  readonly dirtyBytes: number;
  readonly writebackBytes: number;
  readonly scannedPages: number;
  readonly reclaimedPages: number;
  /** Pages that were read again after their eviction. */
  readonly refaultedFilePages: number;
  readonly refaultedAnonymousPages: number;
  /** How often memory.high throttled a task. */
  readonly highEvents: number;
  /** How often memory.max was reached. */
  readonly maxEvents: number;
}

/** Further figures, for /metrics/cadvisor only. */
export interface CgroupDetails {
  readonly createdAtMs: number;
  readonly cpuUserNs: number;
  readonly cpuSystemNs: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNs: number;
  /** In units of cgroup v1. */
  readonly cpuShares: number;
  readonly cpuPeriodUs: number;
  /** Undefined: no limit. */
  readonly cpuQuotaUs: number | undefined;
  readonly maxMemoryBytes: number;
  /** How often the limit was hit. */
  readonly memoryFailures: number;
  readonly kernelMemoryBytes: number;
  readonly memoryReservationBytes: number;
  /** The kernel's value: memory plus swap on v1, swap only on v2. Infinity: no limit. */
  readonly rawSwapLimitBytes: number;
  readonly oomKills: number;
  readonly reclaim: MemoryReclaim;
  readonly threads: number;
  /** 0: no limit. */
  readonly threadsMax: number;
  readonly io: readonly DeviceIo[];
}

/** Reads synchronously, since these are files in memory. Callers that read many yield in between. */
export interface CgroupReader {
  readonly version: 1 | 2;
  /** Undefined if the cgroup does not exist. */
  usage(path: string): CgroupUsage | undefined;
  details(path: string): CgroupDetails | undefined;
  /** Undefined if the cgroup does not exist or its memory is not accounted. */
  memory(path: string): MemoryLoad | undefined;
  /** Undefined if the cgroup does not exist or nothing of it is accounted. */
  load(path: string): CgroupLoad | undefined;
  /** Processes and threads, with descendants; undefined without the pids controller. */
  tasks(path: string): number | undefined;
  /** Paths of the direct children. */
  children(path: string): readonly string[];
  processes(path: string): readonly number[];
  /** Creation time, as far as the kernel keeps it; undefined if the cgroup does not exist. */
  createdAtMs(path: string): number | undefined;
}
