// Statistics of the node, its pods and containers, and metrics about the machine and this process.
import type { CriImages, CriRuntime } from '../api/cri/runtime.ts';
import type { CgroupReader } from '../api/ports/cgroup-usage.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import type { NodeLoadSource } from '../api/ports/node-usage.ts';
import type { VolumeStatsSource } from '../api/ports/volume-stats.ts';
import { hugePageBytes } from '../api/quantity/huge-pages.ts';
import type { Component } from '../base/component.ts';
import { kubeletVersion, versionNumbers } from '../config/version.ts';
import { buildInfo } from '../metrics/build-info.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { loopDelayMetrics } from '../metrics/loop-delay-metrics.ts';
import { nodeInfoMetrics } from '../metrics/node-info-metrics.ts';
import { podCountMetrics } from '../metrics/pod-count-metrics.ts';
import { processMetrics } from '../metrics/process-metrics.ts';
import { podsCgroup } from '../resources/cgroups/cgroup-policies.ts';
import { statsHandlers } from '../server/metrics-handlers.ts';
import type { RouteHandlers } from '../server/routes.ts';
import { podUsage } from '../stats/collect/cgroup-places.ts';
import { DiskMetrics } from '../stats/disk-metrics.ts';
import { NodeLoad } from '../stats/load/node-load.ts';
import { machineInfo, sandboxImage } from '../stats/machine-info.ts';
import { podCgroupPlaces, systemCgroups } from '../stats/node-cgroups.ts';
import { Stats } from '../stats/stats.ts';
import { UnreadableFiles } from '../stats/unreadable-files.ts';
import type { AssembleInput, StatsEdge } from './input.ts';
import type { SharedStores } from './stores.ts';

/** The edge of statistics with the files it failed to read. */
interface StatsReaders {
  readonly edge: StatsEdge;
  readonly unreadable: UnreadableFiles;
}

export function openStats({ edges, machine }: Pick<AssembleInput, 'edges' | 'machine'>): StatsReaders {
  const unreadable = new UnreadableFiles();
  const edge = edges.stats({
    memoryBytes: Number(machine.memoryBytes),
    swapBytes: Number(machine.swapBytes ?? 0n),
    onUnreadable: unreadable.record.bind(unreadable),
  });
  return { edge, unreadable };
}

interface StatsRooms {
  readonly readers: StatsReaders;
  readonly stores: SharedStores;
  /** Undefined on a machine without cgroups. */
  readonly cgroups: Pick<Cgroups, 'path' | 'nameOf'> | undefined;
  readonly cri: Pick<CriRuntime, 'listContainerStats' | 'listPodSandboxStats' | 'status'> &
    Pick<CriImages, 'imageFsInfo'>;
  readonly volumes: VolumeStatsSource;
  readonly metrics: KubeletMetrics;
}

interface AssembledStats {
  readonly handlers: RouteHandlers;
  /** The figures that eviction decides by. */
  readonly load: NodeLoadSource;
  /** The path of the cgroup of all pods; undefined if pods have no cgroups of their own. */
  readonly podsCgroup: string | undefined;
  /** Cheap figures of the node's and the pods' cgroups; undefined without them. */
  readonly usage:
    | {
        pods(): ReadonlyMap<string, string>;
        load(path: string): ReturnType<CgroupReader['load']>;
      }
    | undefined;
  readonly components: readonly Component[];
}

type StatsInput = Pick<
  AssembleInput,
  | 'capacity'
  | 'clock'
  | 'config'
  | 'edges'
  | 'flags'
  | 'gates'
  | 'log'
  | 'machine'
  | 'nodeName'
  | 'runtimeReportsConfig'
>;

export function assembleStats(input: StatsInput, rooms: StatsRooms): AssembledStats {
  const { capacity, clock, config, edges, flags, gates, log, machine, nodeName } = input;
  const { cgroups, cri, metrics, stores, volumes } = rooms;
  const { edge, unreadable } = rooms.readers;
  const { host, own } = edge;
  const places =
    cgroups === undefined || !config.cgroupsPerQOS
      ? undefined
      : podCgroupPlaces(podsCgroup(config.cgroupRoot), cgroups);
  const system = {
    kubelet: config.kubeletCgroups,
    runtime: flags.runtimeCgroups,
    system: config.systemCgroups,
    pods: places?.root,
    ownCgroup: () => host.ownCgroup(edge.cgroups?.version ?? 2),
    startedAtMs: clock.now(),
  };
  const { rootDir } = flags;
  const { podLogsDir } = config;
  const pause = edge.pause.bind(edge);
  const reserved = gates.HugepageAwareEviction ? hugePageBytes(capacity.hugePages) : 0;
  const ownLog = log.with({ component: 'stats' });
  const load = new NodeLoad({
    observed: stores.observed,
    cgroups: edge.cgroups,
    runtime: cri,
    hugePageBytes: reserved,
    log: ownLog,
    host,
    places,
    pause,
    volumes,
    rootDir,
    podLogsDir,
    clock,
  });
  const stats = new Stats({
    observed: stores.observed,
    runtime: cri,
    volumes,
    readers: { cgroups: edge.cgroups, host, pause, unreadable },
    node: {
      places,
      system: () => systemCgroups(system),
      rootDir,
      podLogsDir,
      sandboxImage: sandboxImage(cri),
      machine: machineInfo({
        identity: () => edges.nodeHost.identity(),
        topology: () => host.topology(),
        memoryBytes: Number(machine.memoryBytes),
      }),
    },
    settings: {
      nodeName,
      bootedAtMs: edge.bootedAtMs,
      psi: gates.KubeletPSI,
      hugePageBytes: reserved,
    },
    clock,
    log: ownLog,
  });
  podCountMetrics({ registry: metrics.registry, ...stores });
  const architecture = edges.nodeHost.architecture();
  nodeInfoMetrics(metrics.registry, {
    cgroupVersion: machine.cgroupVersion,
    runtimeReportsConfig: input.runtimeReportsConfig ?? true,
    build: buildInfo({ version: kubeletVersion, ...versionNumbers, architecture, nodeVersion: own.version }),
  });
  return {
    load,
    podsCgroup: places?.root,
    usage: edge.cgroups && podUsage(edge.cgroups, places),
    handlers: statsHandlers({ stats, diskMetrics: new DiskMetrics(metrics.registry), metrics }),
    components: [
      stats,
      processMetrics(metrics.registry, own),
      loopDelayMetrics(metrics.registry, edges.loopDelay, clock),
      metrics.podStarts.follow(stores),
    ],
  };
}
