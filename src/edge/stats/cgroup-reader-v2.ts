// Reads the usage of cgroups on v2, where all controllers share one hierarchy.
// Upstream: opencontainers/cgroups/fs2 and cadvisor's container/libcontainer.
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
import { weightToShares } from '../../api/quantity/cpu-shares.ts';
import { oldest, pidsOf } from './cgroup-reader-v1.ts';
import { type DiskNames, deviceIo } from './disk-names.ts';
import { fieldOf, type KernelFiles } from './kernel-files.ts';
import { readMachinePressure, readPressure } from './pressure.ts';

interface CgroupReaderV2Options {
  readonly files: KernelFiles;
  readonly root: string;
  readonly disks: DiskNames;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  /** Swap in use on the whole machine. The root cgroup has no file for it. */
  readonly usedSwapBytes: () => number;
  readonly now: () => number;
}

export class CgroupReaderV2 implements CgroupReader {
  readonly version = 2;
  readonly #options: CgroupReaderV2Options;
  readonly #files: KernelFiles;

  constructor(options: CgroupReaderV2Options) {
    this.#options = options;
    this.#files = options.files;
  }

  usage(path: string): CgroupUsage | undefined {
    const directory = this.#directory(path);
    const cpu = this.#files.text(`${directory}/cpu.stat`);
    const memory = this.#memory(path, directory);
    if (cpu === undefined && memory === undefined) return undefined;
    return {
      path,
      atMs: this.#options.now(),
      cpuNs: cpu === undefined ? undefined : (fieldOf(cpu, 'usage_usec') ?? 0) * 1000,
      memory,
      pressure: path === '/' ? readMachinePressure(this.#files) : readPressure(this.#files, directory),
      processes: this.processes(path).length,
    };
  }

  details(path: string): CgroupDetails | undefined {
    const createdAtMs = this.createdAtMs(path);
    if (createdAtMs === undefined) return undefined;
    const directory = this.#directory(path);
    const number = (file: string): number => this.#files.number(`${directory}/${file}`) ?? 0;
    const text = (file: string): string => this.#files.text(`${directory}/${file}`) ?? '';
    const events = text('memory.events');
    const stat = text('memory.stat');
    const threadsMax = number('pids.max');
    return {
      createdAtMs,
      ...cpuDetails(text('cpu.stat'), text('cpu.max'), number('cpu.weight')),
      maxMemoryBytes: number('memory.peak'),
      memoryFailures: fieldOf(events, 'max') ?? 0,
      kernelMemoryBytes: fieldOf(stat, 'kernel') ?? 0,
      memoryReservationBytes: number('memory.min'),
      rawSwapLimitBytes: path === '/' ? this.#options.swapBytes : number('memory.swap.max'),
      oomKills: fieldOf(events, 'oom_kill') ?? 0,
      reclaim: reclaimOf(stat, events),
      threads: number('pids.current'),
      threadsMax: Number.isFinite(threadsMax) ? threadsMax : 0,
      io: v2Io(text('io.stat'), this.#options.disks),
    };
  }

  memory(path: string): MemoryLoad | undefined {
    const directory = this.#directory(path);
    const stat = this.#files.text(`${directory}/memory.stat`);
    if (stat === undefined) return undefined;
    const usageBytes = this.#usageBytes(path, directory, stat);
    if (usageBytes === undefined) return undefined;
    const inactiveFileBytes = fieldOf(stat, 'inactive_file') ?? 0;
    return {
      usageBytes,
      workingSetBytes: Math.max(usageBytes - inactiveFileBytes, 0),
      limitBytes: this.#limitBytes(path, directory),
    };
  }

  load(path: string): CgroupLoad | undefined {
    const directory = this.#directory(path);
    const cpu = this.#files.text(`${directory}/cpu.stat`);
    const stat = this.#files.text(`${directory}/memory.stat`);
    if (cpu === undefined && stat === undefined) return undefined;
    const cpuNs = cpu === undefined ? undefined : (fieldOf(cpu, 'usage_usec') ?? 0) * 1000;
    const usageBytes = stat === undefined ? undefined : this.#usageBytes(path, directory, stat);
    if (stat === undefined || usageBytes === undefined) return { cpuNs, workingSetBytes: undefined };
    return { cpuNs, workingSetBytes: Math.max(usageBytes - (fieldOf(stat, 'inactive_file') ?? 0), 0) };
  }

  tasks(path: string): number | undefined {
    return this.#files.number(`${this.#directory(path)}/pids.current`);
  }

  children(path: string): readonly string[] {
    const below = path === '/' ? '' : path;
    return this.#files.directories(this.#directory(path)).map((name) => `${below}/${name}`);
  }

  processes(path: string): readonly number[] {
    return pidsOf(this.#files.text(`${this.#directory(path)}/cgroup.procs`) ?? '');
  }

  createdAtMs(path: string): number | undefined {
    const directory = this.#directory(path);
    return oldest(this.#files, [directory, `${directory}/cgroup.events`]);
  }

  #directory(path: string): string {
    return `${this.#options.root}${path === '/' ? '' : path}`;
  }

  /** The root has no memory.current. Anonymous plus file pages is what v1 reports as its usage. */
  #usageBytes(path: string, directory: string, stat: string): number | undefined {
    if (path !== '/') return this.#files.number(`${directory}/memory.current`);
    return (fieldOf(stat, 'anon') ?? 0) + (fieldOf(stat, 'file') ?? 0);
  }

  #limitBytes(path: string, directory: string): number {
    if (path === '/') return this.#options.memoryBytes;
    return this.#files.number(`${directory}/memory.max`) ?? Number.POSITIVE_INFINITY;
  }

  #memory(path: string, directory: string): MemoryUsage | undefined {
    const { swapBytes, usedSwapBytes } = this.#options;
    const stat = this.#files.text(`${directory}/memory.stat`);
    if (stat === undefined) return undefined;
    const number = (file: string): number | undefined => this.#files.number(`${directory}/${file}`);
    const isRoot = path === '/';
    const rssBytes = fieldOf(stat, 'anon') ?? 0;
    const cacheBytes = fieldOf(stat, 'file') ?? 0;
    const inactiveFileBytes = fieldOf(stat, 'inactive_file') ?? 0;
    const usageBytes = this.#usageBytes(path, directory, stat);
    if (usageBytes === undefined) return undefined;
    return {
      usageBytes,
      workingSetBytes: Math.max(usageBytes - inactiveFileBytes, 0),
      rssBytes,
      cacheBytes,
      mappedFileBytes: fieldOf(stat, 'file_mapped') ?? 0,
      activeFileBytes: fieldOf(stat, 'active_file') ?? 0,
      inactiveFileBytes,
      swapBytes: isRoot ? usedSwapBytes() : (number('memory.swap.current') ?? 0),
      pageFaults: fieldOf(stat, 'pgfault') ?? 0,
      majorPageFaults: fieldOf(stat, 'pgmajfault') ?? 0,
      limitBytes: this.#limitBytes(path, directory),
      swapLimitBytes: isRoot ? swapBytes : number('memory.swap.max'),
    };
  }
}

function reclaimOf(stat: string, events: string): MemoryReclaim {
  return {
    dirtyBytes: fieldOf(stat, 'file_dirty') ?? 0,
    writebackBytes: fieldOf(stat, 'file_writeback') ?? 0,
    scannedPages: fieldOf(stat, 'pgscan') ?? 0,
    reclaimedPages: fieldOf(stat, 'pgsteal') ?? 0,
    refaultedFilePages: fieldOf(stat, 'workingset_refault_file') ?? 0,
    refaultedAnonymousPages: fieldOf(stat, 'workingset_refault_anon') ?? 0,
    highEvents: fieldOf(events, 'high') ?? 0,
    maxEvents: fieldOf(events, 'max') ?? 0,
  };
}

/** `max` is `100000 100000`, or `max 100000` without a limit. */
function cpuDetails(stat: string, max: string, weight: number) {
  const [quota = 'max', period = '0'] = max.trim().split(' ');
  return {
    cpuUserNs: (fieldOf(stat, 'user_usec') ?? 0) * 1000,
    cpuSystemNs: (fieldOf(stat, 'system_usec') ?? 0) * 1000,
    periods: fieldOf(stat, 'nr_periods') ?? 0,
    throttledPeriods: fieldOf(stat, 'nr_throttled') ?? 0,
    throttledNs: (fieldOf(stat, 'throttled_usec') ?? 0) * 1000,
    cpuShares: weight === 0 ? 0 : Number(weightToShares(BigInt(weight))),
    cpuPeriodUs: Number(period),
    cpuQuotaUs: quota === 'max' || quota === '' ? undefined : Number(quota),
  };
}

/** Parses lines `8:0 rbytes=1 wbytes=2 rios=3 wios=4 …`. A device that was never used has only its numbers and a space. */
function v2Io(text: string, disks: DiskNames): readonly DeviceIo[] {
  return text.split('\n').flatMap((line) => {
    const [device = '', ...pairs] = line.trim().split(' ');
    if (pairs.length === 0) return [];
    const values = Object.fromEntries(pairs.map((pair) => pair.split('=')));
    return [
      deviceIo(disks, device, {
        readBytes: Number(values['rbytes'] ?? 0),
        writeBytes: Number(values['wbytes'] ?? 0),
        reads: Number(values['rios'] ?? 0),
        writes: Number(values['wios'] ?? 0),
      }),
    ];
  });
}
