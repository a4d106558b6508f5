// The kernel's control groups as the rest of the code sees them: names and amounts, neither versions nor files. Types only;
// edge/cgroup implements it for cgroup v1 and v2. Upstream: pkg/kubelet/cm/types.go.

/** Parts from the top: `['kubepods', 'burstable', 'pod<uid>']`. Without any: the top itself. */
export type CgroupName = readonly string[];

/** What is not said stays as it is. */
export interface CgroupSettings {
  /** In cgroup v1's measure; v2 takes the weight that answers to it. */
  readonly cpuShares?: bigint;
  /** -1: no limit. */
  readonly cpuQuotaUs?: bigint;
  readonly cpuPeriodUs?: bigint;
  /** -1: no limit. */
  readonly memoryLimitBytes?: bigint;
  /** -1: no limit. */
  readonly pidsLimit?: bigint;
  /** By page size in the CRI's form (2MB); a size that is not named is limited to none. */
  readonly hugePageLimits?: Readonly<Record<string, bigint>>;
  /** A list as `0-3,7`. */
  readonly cpus?: string;
  /** cgroup v2's files as they are: `memory.min`. Not looked at on v1. */
  readonly unified?: Readonly<Record<string, string>>;
}

export interface CpuSettings {
  readonly cpuShares: bigint;
  readonly cpuQuotaUs: bigint;
  readonly cpuPeriodUs: bigint;
}

export interface Cgroups {
  readonly version: 1 | 2;
  /** How the runtime and the file system spell this name: a path that begins with a slash. */
  path(name: CgroupName): string;
  /** The reverse, for what was found on disk or written into a configuration. */
  nameOf(path: string): CgroupName;
  /** What is missing for this cgroup to be whole; undefined when it is. */
  missing(name: CgroupName): Promise<string | undefined>;
  /** Whether there is anything of it, in any hierarchy. */
  exists(name: CgroupName): Promise<boolean>;
  /** Makes it, and what lies above it, and gives it its amounts; one that exists gets its amounts. */
  create(name: CgroupName, settings: CgroupSettings): Promise<void>;
  /**
   * As `create`, for who is about to put a container into it: a new one is made only where it has to be told something, since
   * the runtime makes the rest.
   */
  begin(name: CgroupName, settings: CgroupSettings): Promise<void>;
  update(name: CgroupName, settings: CgroupSettings): Promise<void>;
  /** Processes in it and below it. */
  processes(name: CgroupName): Promise<readonly number[]>;
  /** Kills what runs in it and below it; with `child`, only in what lies below it under this name on disk. */
  kill(name: CgroupName, child?: string): Promise<void>;
  /** Removes it where neither a process nor another cgroup is in it, without waiting. Whether nothing is left of it. */
  removeIdle(name: CgroupName): Promise<boolean>;
  /** Removes it with what lies below; one with processes in it is a conflict. Nothing there is fine. */
  remove(name: CgroupName): Promise<void>;
  /** Names of the cgroups directly below it, in any hierarchy. */
  children(name: CgroupName): Promise<readonly CgroupName[]>;
  memoryUsageBytes(name: CgroupName): Promise<bigint>;
  /** No limit is told as the kernel tells it: a very large number on v1, -1 on v2. */
  memoryLimitBytes(name: CgroupName): Promise<bigint>;
  cpu(name: CgroupName): Promise<CpuSettings>;
  /** Lets go of what it holds to the outside. */
  close(): void;
}
