// Cgroups as features use them: names and amounts, independent of version and driver. Types only; edge/cgroup implements them
// for cgroup v1 and v2. Upstream: pkg/kubelet/cm/types.go.

/** From the root: `['kubepods', 'burstable', 'pod<uid>']`. Empty: the root itself. */
export type CgroupName = readonly string[];

/** An absent setting is left unchanged. */
export interface CgroupSettings {
  /** In units of cgroup v1; converted to the weight of v2. */
  readonly cpuShares?: bigint;
  /** -1: no limit. */
  readonly cpuQuotaUs?: bigint;
  readonly cpuPeriodUs?: bigint;
  /** -1: no limit. */
  readonly memoryLimitBytes?: bigint;
  /** -1: no limit. */
  readonly pidsLimit?: bigint;
  /** By page size in the CRI's form (2MB); sizes not listed are limited to 0. */
  readonly hugePageLimits?: Readonly<Record<string, bigint>>;
  /** A CPU list: `0-3,7`. */
  readonly cpus?: string;
  /** Files of cgroup v2: `memory.min`. Ignored on v1. */
  readonly unified?: Readonly<Record<string, string>>;
}

export interface CpuSettings {
  readonly cpuShares: bigint;
  readonly cpuQuotaUs: bigint;
  readonly cpuPeriodUs: bigint;
}

/** Lists in the kernel's form; empty: inherited. */
export interface Cpuset {
  readonly cpus: string;
  readonly memoryNodes: string;
}

export interface Cgroups {
  readonly version: 1 | 2;
  /** The cgroup path for the runtime and the file system, with a leading slash. */
  path(name: CgroupName): string;
  /** The inverse of path(), for paths from disk or from a configuration. */
  nameOf(path: string): CgroupName;
  /** Describes what is missing of this cgroup; undefined if it is complete. */
  missing(name: CgroupName): Promise<string | undefined>;
  /** Whether it exists in any hierarchy. */
  exists(name: CgroupName): Promise<boolean>;
  /** Creates it with its ancestors and applies the settings, also to an existing one. */
  create(name: CgroupName, settings: CgroupSettings): Promise<void>;
  /**
   * As `create`, for a caller that is about to start a container in it: created only in the hierarchies where a setting has to
   * be written, since the runtime creates the others.
   */
  begin(name: CgroupName, settings: CgroupSettings): Promise<void>;
  update(name: CgroupName, settings: CgroupSettings): Promise<void>;
  /** Processes in it and its descendants. */
  processes(name: CgroupName): Promise<readonly number[]>;
  /** Kills the processes in it and its descendants; with `child`, only those in the child of this name on disk. */
  kill(name: CgroupName, child?: string): Promise<void>;
  /** Removes it where it has neither processes nor children, without waiting. Returns whether nothing is left of it. */
  removeIdle(name: CgroupName): Promise<boolean>;
  /** Removes it with its descendants, if it exists. `conflict` if it has processes. */
  remove(name: CgroupName): Promise<void>;
  /** Names of its direct children in any hierarchy. */
  children(name: CgroupName): Promise<readonly CgroupName[]>;
  memoryUsageBytes(name: CgroupName): Promise<bigint>;
  /** Without a limit: a very large number on v1, as in the kernel, and -1 on v2. */
  memoryLimitBytes(name: CgroupName): Promise<bigint>;
  cpu(name: CgroupName): Promise<CpuSettings>;
  /** Of the child of this name on disk. Undefined if it does not exist or sets none. */
  cpuset(name: CgroupName, child: string): Promise<Cpuset | undefined>;
  /** Closes its connections and descriptors. */
  close(): void;
}
