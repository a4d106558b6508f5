// Reads the usage of cgroups on v1, where each controller has its own hierarchy.
// Upstream: opencontainers/cgroups/fs and cadvisor's container/libcontainer.
import type {
  CgroupDetails,
  CgroupLoad,
  CgroupReader,
  CgroupUsage,
  DeviceIo,
  MemoryLoad,
  MemoryReclaim,
  MemoryUsage,
} from '../../api/ports/cgroup-usage.ts';
import { type DiskNames, deviceIo } from './disk-names.ts';
import { fieldOf, type KernelFiles } from './kernel-files.ts';
import { readMachinePressure, readPressure } from './pressure.ts';

interface CgroupReaderV1Options {
  readonly files: KernelFiles;
  /** By controller. */
  readonly mountPoints: ReadonlyMap<string, string>;
  /** The mount point of v2 beside v1. */
  readonly unified?: string | undefined;
  readonly disks: DiskNames;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly now: () => number;
}

/** A kernel tick as user space sees it: 10 ms on every machine. */
const tickNs = 1e7;
/** v1 reports no limit as the largest multiple of the page size. */
const unlimited = 2 ** 62;

export class CgroupReaderV1 implements CgroupReader {
  readonly version = 1;
  readonly #options: CgroupReaderV1Options;
  readonly #files: KernelFiles;

  constructor(options: CgroupReaderV1Options) {
    this.#options = options;
    this.#files = options.files;
  }

  usage(path: string): CgroupUsage | undefined {
    const cpuNs = this.#number('cpuacct', path, 'cpuacct.usage');
    const memory = this.#memory(path);
    if (cpuNs === undefined && memory === undefined) return undefined;
    const processes = this.processes(path).length;
    return { path, atMs: this.#options.now(), cpuNs, memory, pressure: this.#pressure(path), processes };
  }

  details(path: string): CgroupDetails | undefined {
    const createdAtMs = this.createdAtMs(path);
    if (createdAtMs === undefined) return undefined;
    const memory = (file: string): number => this.#number('memory', path, file) ?? 0;
    const threadsMax = this.#number('pids', path, 'pids.max') ?? 0;
    return {
      createdAtMs,
      ...this.#cpuDetails(path),
      maxMemoryBytes: memory('memory.max_usage_in_bytes'),
      memoryFailures: memory('memory.failcnt'),
      kernelMemoryBytes: memory('memory.kmem.usage_in_bytes'),
      memoryReservationBytes: limit(memory('memory.soft_limit_in_bytes')),
      rawSwapLimitBytes:
        path === '/' ? this.#options.swapBytes : limit(memory('memory.memsw.limit_in_bytes')),
      oomKills: fieldOf(this.#text('memory', path, 'memory.oom_control') ?? '', 'oom_kill') ?? 0,
      reclaim: reclaimOf(this.#text('memory', path, 'memory.stat') ?? ''),
      threads: this.#number('pids', path, 'pids.current') ?? 0,
      threadsMax: Number.isFinite(threadsMax) ? threadsMax : 0,
      io: this.#io(path),
    };
  }

  memory(path: string): MemoryLoad | undefined {
    const usageBytes = this.#number('memory', path, 'memory.usage_in_bytes');
    const stat = usageBytes === undefined ? undefined : this.#text('memory', path, 'memory.stat');
    if (usageBytes === undefined || stat === undefined) return undefined;
    const inactiveFileBytes = fieldOf(stat, 'total_inactive_file') ?? 0;
    return {
      usageBytes,
      workingSetBytes: Math.max(usageBytes - inactiveFileBytes, 0),
      limitBytes: this.#memoryLimit(path),
    };
  }

  load(path: string): CgroupLoad | undefined {
    const cpuNs = this.#number('cpuacct', path, 'cpuacct.usage');
    const usageBytes = this.#number('memory', path, 'memory.usage_in_bytes');
    if (cpuNs === undefined && usageBytes === undefined) return undefined;
    if (usageBytes === undefined) return { cpuNs, workingSetBytes: undefined };
    const stat = this.#text('memory', path, 'memory.stat') ?? '';
    const inactiveFileBytes = fieldOf(stat, 'total_inactive_file') ?? 0;
    return { cpuNs, workingSetBytes: Math.max(usageBytes - inactiveFileBytes, 0) };
  }

  tasks(path: string): number | undefined {
    return this.#number('pids', path, 'pids.current');
  }

  children(path: string): readonly string[] {
    const directory = this.#mainDirectory(path);
    const below = path === '/' ? '' : path;
    return directory === undefined
      ? []
      : this.#files.directories(directory).map((name) => `${below}/${name}`);
  }

  processes(path: string): readonly number[] {
    const file = 'cgroup.procs';
    return pidsOf(this.#text('cpu', path, file) ?? this.#text('memory', path, file) ?? '');
  }

  /** The directory's own time changes when a child is created, the time of the file does not. */
  createdAtMs(path: string): number | undefined {
    const directory = this.#mainDirectory(path);
    return directory === undefined
      ? undefined
      : oldest(this.#files, [directory, `${directory}/cgroup.clone_children`]);
  }

  #cpuDetails(path: string) {
    const stat = this.#text('cpu', path, 'cpu.stat') ?? '';
    const ticks = this.#text('cpuacct', path, 'cpuacct.stat') ?? '';
    const quota = this.#number('cpu', path, 'cpu.cfs_quota_us') ?? -1;
    return {
      cpuUserNs: (fieldOf(ticks, 'user') ?? 0) * tickNs,
      cpuSystemNs: (fieldOf(ticks, 'system') ?? 0) * tickNs,
      periods: fieldOf(stat, 'nr_periods') ?? 0,
      throttledPeriods: fieldOf(stat, 'nr_throttled') ?? 0,
      throttledNs: fieldOf(stat, 'throttled_time') ?? 0,
      cpuShares: this.#number('cpu', path, 'cpu.shares') ?? 0,
      cpuPeriodUs: this.#number('cpu', path, 'cpu.cfs_period_us') ?? 0,
      cpuQuotaUs: quota < 0 ? undefined : quota,
    };
  }

  #memory(path: string): MemoryUsage | undefined {
    const { swapBytes } = this.#options;
    const usageBytes = this.#number('memory', path, 'memory.usage_in_bytes');
    const stat = this.#text('memory', path, 'memory.stat');
    if (usageBytes === undefined || stat === undefined) return undefined;
    const inactiveFileBytes = fieldOf(stat, 'total_inactive_file') ?? 0;
    const limitBytes = this.#memoryLimit(path);
    const withSwap = path === '/' ? undefined : this.#number('memory', path, 'memory.memsw.limit_in_bytes');
    return {
      usageBytes,
      workingSetBytes: Math.max(usageBytes - inactiveFileBytes, 0),
      rssBytes: fieldOf(stat, 'total_rss') ?? 0,
      cacheBytes: fieldOf(stat, 'total_cache') ?? 0,
      mappedFileBytes: fieldOf(stat, 'total_mapped_file') ?? 0,
      activeFileBytes: fieldOf(stat, 'total_active_file') ?? 0,
      inactiveFileBytes,
      swapBytes: fieldOf(stat, 'total_swap') ?? 0,
      // differs from upstream: includes descendants, as on v2. Upstream reports 0 for a pod's cgroup, which has no processes.
      pageFaults: fieldOf(stat, 'total_pgfault') ?? 0,
      majorPageFaults: fieldOf(stat, 'total_pgmajfault') ?? 0,
      limitBytes,
      swapLimitBytes: path === '/' ? swapBytes : swapLimit(withSwap, limitBytes),
    };
  }

  #memoryLimit(path: string): number {
    if (path === '/') return this.#options.memoryBytes;
    return limit(this.#number('memory', path, 'memory.limit_in_bytes') ?? Number.POSITIVE_INFINITY);
  }

  #pressure(path: string): CgroupUsage['pressure'] {
    const { unified } = this.#options;
    if (path === '/') return readMachinePressure(this.#files);
    return unified === undefined ? undefined : readPressure(this.#files, `${unified}${path}`);
  }

  #io(path: string): readonly DeviceIo[] {
    const bytes = this.#text('blkio', path, 'blkio.throttle.io_service_bytes_recursive') ?? '';
    const counts = this.#text('blkio', path, 'blkio.throttle.io_serviced_recursive') ?? '';
    return v1Io(bytes, counts, this.#options.disks);
  }

  #mainDirectory(path: string): string | undefined {
    return this.#directory('memory', path) ?? this.#directory('cpu', path);
  }

  #directory(controller: string, path: string): string | undefined {
    const mount = this.#options.mountPoints.get(controller);
    return mount === undefined ? undefined : `${mount}${path === '/' ? '' : path}`;
  }

  #number(controller: string, path: string, file: string): number | undefined {
    const directory = this.#directory(controller, path);
    return directory === undefined ? undefined : this.#files.number(`${directory}/${file}`);
  }

  #text(controller: string, path: string, file: string): string | undefined {
    const directory = this.#directory(controller, path);
    return directory === undefined ? undefined : this.#files.text(`${directory}/${file}`);
  }
}

/** v1 has no figures on scanned pages and no memory.events. */
// differs from upstream: includes descendants, and dirty pages, which upstream reads on v2 only.
function reclaimOf(stat: string): MemoryReclaim {
  return {
    dirtyBytes: fieldOf(stat, 'total_dirty') ?? 0,
    writebackBytes: fieldOf(stat, 'total_writeback') ?? 0,
    scannedPages: 0,
    reclaimedPages: 0,
    refaultedFilePages: fieldOf(stat, 'total_workingset_refault_file') ?? 0,
    refaultedAnonymousPages: fieldOf(stat, 'total_workingset_refault_anon') ?? 0,
    highEvents: 0,
    maxEvents: 0,
  };
}

/** Parses lines of the form `8:0 Read 4096`. */
function v1Io(bytes: string, counts: string, disks: DiskNames): readonly DeviceIo[] {
  const found = new Map<string, Record<string, number>>();
  for (const [text, unit] of [
    [bytes, 'Bytes'],
    [counts, 'Count'],
  ] as const) {
    for (const line of text.split('\n')) {
      const [device = '', operation, value] = line.split(' ');
      if (value === undefined) continue;
      const row = found.get(device) ?? {};
      row[`${operation}${unit}`] = Number(value);
      found.set(device, row);
    }
  }
  return [...found].map(([device, row]) =>
    deviceIo(disks, device, {
      readBytes: row['ReadBytes'] ?? 0,
      writeBytes: row['WriteBytes'] ?? 0,
      reads: row['ReadCount'] ?? 0,
      writes: row['WriteCount'] ?? 0,
    }),
  );
}

export function oldest(files: KernelFiles, paths: readonly string[]): number | undefined {
  const times = paths.flatMap((path) => files.modifiedAtMs(path) ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

export function pidsOf(text: string): readonly number[] {
  return text
    .split('\n')
    .filter((line) => /^[1-9]\d*$/.test(line))
    .map(Number);
}

function limit(bytes: number): number {
  return bytes > unlimited ? Number.POSITIVE_INFINITY : bytes;
}

// differs from upstream: v1 limits memory and swap together; upstream reports that sum as the swap limit.
function swapLimit(withSwap: number | undefined, limitBytes: number): number | undefined {
  if (withSwap === undefined) return undefined;
  if (!Number.isFinite(limit(withSwap))) return Number.POSITIVE_INFINITY;
  return Math.max(withSwap - limitBytes, 0);
}
