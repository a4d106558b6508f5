// What a control group uses and is allowed, whatever version the kernel has. Types only; edge/stats reads it.
// Upstream: cadvisor's ContainerStats and ContainerSpec over opencontainers/cgroups.

/** One line of a pressure file: how long tasks have waited. */
export interface PressureLine {
  readonly totalUs: number;
  /** In per cent of the last 10, 60 and 300 seconds. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** Some: at least one task waited. Full: none could go on. */
export interface Pressure {
  readonly some: PressureLine;
  readonly full: PressureLine;
}

export interface MemoryUsage {
  readonly usageBytes: number;
  /** Without file pages that nobody has looked at lately: what cannot be had back at once. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly swapBytes: number;
  /** With what lies below it. */
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  /** Infinity: none. */
  readonly limitBytes: number;
  /** Of swap alone. Infinity: none; undefined: the kernel does not count swap. */
  readonly swapLimitBytes: number | undefined;
}

/** What is looked at on every collection: few files. */
export interface CgroupUsage {
  /** From the top of the hierarchy, `/` being the machine. */
  readonly path: string;
  readonly atMs: number;
  readonly cpuNs: number | undefined;
  readonly memory: MemoryUsage | undefined;
  /** Undefined where the kernel does not tell it of this cgroup. */
  readonly pressure: { readonly cpu: Pressure; readonly memory: Pressure; readonly io: Pressure } | undefined;
  /** In it, without those in cgroups below. */
  readonly processes: number;
}

export interface DeviceIo {
  /** `/dev/vda`; empty when no disk has these numbers any more. */
  readonly device: string;
  readonly major: number;
  readonly minor: number;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** The rest, for who wants every series. */
export interface CgroupDetails {
  readonly createdAtMs: number;
  readonly cpuUserNs: number;
  readonly cpuSystemNs: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNs: number;
  /** In cgroup v1's measure. */
  readonly cpuShares: number;
  readonly cpuPeriodUs: number;
  /** Undefined: no limit. */
  readonly cpuQuotaUs: number | undefined;
  readonly maxMemoryBytes: number;
  /** How often the limit was run into. */
  readonly memoryFailures: number;
  readonly kernelMemoryBytes: number;
  readonly memoryReservationBytes: number;
  /** As the kernel has it: on v1 with memory, on v2 without. Infinity: none. */
  readonly rawSwapLimitBytes: number;
  readonly oomKills: number;
  readonly threads: number;
  /** 0: no limit. */
  readonly threadsMax: number;
  readonly io: readonly DeviceIo[];
}

/** Reads synchronously: these are the kernel's own tables. Who reads many pauses in between. */
export interface CgroupReader {
  readonly version: 1 | 2;
  /** Undefined: it is not there, or not any more. */
  usage(path: string): CgroupUsage | undefined;
  details(path: string): CgroupDetails | undefined;
  /** Paths of the cgroups directly below. */
  children(path: string): readonly string[];
  processes(path: string): readonly number[];
  /** When it was made, as far as the kernel remembers; undefined when it is not there. */
  createdAtMs(path: string): number | undefined;
}
