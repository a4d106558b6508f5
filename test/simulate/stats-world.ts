// Statistics of a node in memory: cgroups, files and a runtime with figures set by the test, on the fake clock.

import type { ContainerStats } from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { ObservedPod } from '../../src/api/pod/observed.ts';
import type { CgroupReader, CgroupUsage, MemoryUsage } from '../../src/api/ports/cgroup-usage.ts';
import type { VolumeUsage } from '../../src/api/ports/volume-stats.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import type { SystemCgroup } from '../../src/stats/collect/collect-usage.ts';
import { Stats, type StatsDeps } from '../../src/stats/stats.ts';
import { UnreadableFiles } from '../../src/stats/unreadable-files.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { fakeStatsEdge } from '../fakes/fake-stats-edge.ts';

export function memoryUsage(over: Partial<MemoryUsage> = {}): MemoryUsage {
  return {
    usageBytes: 1000,
    workingSetBytes: 900,
    rssBytes: 500,
    cacheBytes: 300,
    mappedFileBytes: 60,
    activeFileBytes: 50,
    inactiveFileBytes: 100,
    swapBytes: 10,
    pageFaults: 8,
    majorPageFaults: 1,
    limitBytes: Number.POSITIVE_INFINITY,
    swapLimitBytes: Number.POSITIVE_INFINITY,
    ...over,
  };
}

interface FakeCgroup extends Partial<Omit<CgroupUsage, 'path' | 'atMs' | 'processes'>> {
  readonly pids?: readonly number[];
  /** Undefined: the kernel has no pids controller. */
  readonly tasks?: number;
}

/** Cgroups by path, with a hook for tests to remove one in the middle of a read. */
export class FakeCgroupReader implements CgroupReader {
  readonly version = 2;
  readonly groups = new Map<string, FakeCgroup>();
  reads = 0;
  onRead: (path: string) => void = () => undefined;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  usage(path: string): CgroupUsage | undefined {
    this.reads++;
    this.onRead(path);
    const group = this.groups.get(path);
    if (group === undefined) return undefined;
    const { pids = [], cpuNs = 0, memory = memoryUsage(), pressure } = group;
    return { path, atMs: this.#clock.now(), cpuNs, memory, pressure, processes: pids.length };
  }

  memory(path: string): MemoryUsage | undefined {
    return this.usage(path)?.memory;
  }

  load(path: string): ReturnType<CgroupReader['load']> {
    const usage = this.usage(path);
    return usage && { cpuNs: usage.cpuNs, workingSetBytes: usage.memory?.workingSetBytes };
  }

  tasks(path: string): number | undefined {
    return this.groups.get(path)?.tasks;
  }

  details(path: string): ReturnType<CgroupReader['details']> {
    if (!this.groups.has(path)) return undefined;
    return {
      createdAtMs: this.#clock.now() - 5_000,
      cpuUserNs: 2e9,
      cpuSystemNs: 1e9,
      periods: 4,
      throttledPeriods: 2,
      throttledNs: 5e8,
      cpuShares: 512,
      cpuPeriodUs: 100_000,
      cpuQuotaUs: 20_000,
      maxMemoryBytes: 2000,
      memoryFailures: 6,
      kernelMemoryBytes: 77,
      memoryReservationBytes: 0,
      rawSwapLimitBytes: Number.POSITIVE_INFINITY,
      oomKills: 3,
      reclaim: {
        dirtyBytes: 21,
        writebackBytes: 22,
        scannedPages: 23,
        reclaimedPages: 24,
        refaultedFilePages: 25,
        refaultedAnonymousPages: 26,
        highEvents: 27,
        maxEvents: 28,
      },
      threads: 11,
      threadsMax: 100,
      io: [
        { device: '/dev/sda', major: 8, minor: 0, readBytes: 4096, writeBytes: 8192, reads: 1, writes: 2 },
      ],
    };
  }

  children(path: string): readonly string[] {
    const prefix = path === '/' ? '/' : `${path}/`;
    return [...this.groups.keys()].filter(
      (each) => each.startsWith(prefix) && each !== path && !each.slice(prefix.length).includes('/'),
    );
  }

  processes(path: string): readonly number[] {
    return this.groups.get(path)?.pids ?? [];
  }

  createdAtMs(path: string): number | undefined {
    return this.groups.has(path) ? this.#clock.now() - 5_000 : undefined;
  }
}

interface StatsOver extends Partial<Omit<StatsDeps, 'readers'>> {
  readonly readers?: Partial<StatsDeps['readers']>;
}

const machine = {
  bootId: 'b',
  machineId: 'm',
  systemUuid: 's',
  cores: 2,
  physicalCores: 1,
  sockets: 1,
  memoryBytes: 8000,
  swapBytes: 0,
  kernelVersion: '6.1',
  osVersion: 'Memory',
};

export class StatsWorld {
  readonly clock = new FakeClock();
  readonly cgroups = new FakeCgroupReader(this.clock);
  readonly pods = new Map<string, ObservedPod>();
  readonly volumes = new Map<string, readonly VolumeUsage[]>();
  readonly system: SystemCgroup[] = [];
  readonly unreadable = new UnreadableFiles();
  readonly runtimeCalls: string[] = [];
  readonly warned: string[] = [];
  containerStats: readonly ContainerStats[] = [];
  /** Makes the runtime unresponsive. */
  stalled = false;

  stats(over: StatsOver = {}): Stats {
    const { readers, ...rest } = over;
    return new Stats({
      observed: { all: () => this.pods },
      node: {
        places: {
          root: '/kubepods',
          classes: ['/kubepods', '/kubepods/burstable'],
          uidOf: (path) => /\/pod([^/]+)$/.exec(path)?.[1],
        },
        system: () => this.system,
        machine: () => Promise.resolve(machine),
        sandboxImage: () => Promise.resolve('pause:1'),
        rootDir: '/var/lib/kubelet',
        podLogsDir: '/var/log/pods',
      },
      readers: {
        cgroups: this.cgroups,
        pause: () => Promise.resolve(),
        unreadable: this.unreadable,
        host: {
          ...fakeStatsEdge.host,
          interfaces: (pid) => (pid === 99 ? [] : [anInterface(pid === undefined ? 'ens3' : 'eth0')]),
          defaultInterface: () => 'ens3',
          deviceFileSystems: () => Promise.resolve([]),
        },
        ...readers,
      },
      volumes: { ofPod: (uid) => Promise.resolve(this.volumes.get(uid) ?? []) },
      runtime: {
        listContainerStats: () => this.#answer('containers', { stats: [...this.containerStats] }),
        listPodSandboxStats: () => this.#answer('sandboxes', { stats: [] }),
        imageFsInfo: () => this.#answer('images', { imageFilesystems: [imageFs], containerFilesystems: [] }),
      },
      settings: { nodeName: 'n', bootedAtMs: this.clock.now() - 3_600_000, psi: true, hugePageBytes: 0 },
      clock: this.clock,
      log: { ...silentLogger, warn: (message) => void this.warned.push(message) },
      ...rest,
    });
  }

  #answer<T>(what: string, answer: T): Promise<T> {
    this.runtimeCalls.push(what);
    return this.stalled ? new Promise(() => undefined) : Promise.resolve(answer);
  }
}

const imageFs = {
  timestamp: 1_767_225_600_000_000_000n,
  fsId: { mountpoint: '/var/lib/containerd' },
  usedBytes: { value: 77n },
  inodesUsed: { value: 5n },
};

export function anInterface(name: string) {
  return {
    name,
    rxBytes: 100,
    rxPackets: 10,
    rxErrors: 1,
    rxDropped: 2,
    txBytes: 200,
    txPackets: 20,
    txErrors: 3,
    txDropped: 4,
  };
}
