// The room of statistics: what is read from where, which cgroups are the node's own, and who answers the paths that tell it.

import type { CriImages, CriRuntime } from '../api/cri/runtime.ts';
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { CgroupReader } from '../api/ports/cgroup-usage.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import type { CpuTopology } from '../api/ports/host-usage.ts';
import type { NodeLoadSource } from '../api/ports/node-usage.ts';
import type { VolumeStatsSource } from '../api/ports/volume-stats.ts';
import type { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import { memoizeAsync } from '../base/memoize-async.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import { kubeletVersion, versionNumbers } from '../config/version.ts';
import type { MachineFacts } from '../edge/machine/machine.ts';
import type { StatsHostOptions } from '../edge/stats/stats-host.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { type LoopDelaySource, loopDelayMetrics } from '../metrics/loop-delay-metrics.ts';
import { nodeInfoMetrics } from '../metrics/node-info-metrics.ts';
import { type PodCountDeps, podCountMetrics } from '../metrics/pod-count-metrics.ts';
import { type OwnFiguresSource, processMetrics } from '../metrics/process-metrics.ts';
import { statsHandlers } from '../server/metrics-handlers.ts';
import type { RouteHandlers } from '../server/routes.ts';
import type { MachineEntry } from '../stats/cadvisor/cadvisor-entry.ts';
import type { CgroupPlaces } from '../stats/collect/cgroup-places.ts';
import type { SystemCgroup } from '../stats/collect/collect-usage.ts';
import { DiskMetrics } from '../stats/disk-metrics.ts';
import { Stats, type StatsDeps } from '../stats/stats.ts';
import type { NodeHost } from './node-facts.ts';

/** What is read, on a machine or in a test. */
export interface StatsEdge {
  readonly cgroups: CgroupReader | undefined;
  readonly host: StatsDeps['host'] & {
    ownCgroup(version: 1 | 2): string | undefined;
    topology(): Promise<CpuTopology>;
  };
  readonly own: OwnFiguresSource & { close(): void };
  readonly bootedAtMs: number;
  pause(): Promise<void>;
}

interface StatsInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly machine: MachineFacts;
  readonly nodeName: string;
  readonly edges: {
    readonly stats: (options: StatsHostOptions) => StatsEdge;
    readonly nodeHost: NodeHost;
    readonly loopDelay: LoopDelaySource;
  };
  /** How names of cgroups are spelled; undefined: the machine has none. */
  readonly cgroups: Pick<Cgroups, 'path' | 'nameOf'> | undefined;
  readonly cri: Pick<CriRuntime, 'listContainerStats' | 'listPodSandboxStats' | 'status'> &
    Pick<CriImages, 'imageFsInfo'>;
  readonly stores: {
    readonly desired: PodCountDeps['desired'] & {
      get(uid: PodUid): { readonly pod: Pod } | undefined;
      readonly changed: Channel<PodUid>;
    };
    readonly observed: { all(): ReadonlyMap<PodUid, ObservedPod> };
    readonly lifecycles: PodCountDeps['lifecycles'] & { readonly changed: Channel<PodUid> };
    readonly statuses: { get(uid: PodUid): PodStatus | undefined; readonly changed: Channel<PodUid> };
  };
  readonly volumes: VolumeStatsSource;
  readonly metrics: KubeletMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

interface AssembledStats {
  readonly handlers: RouteHandlers;
  /** For who decides by what is used. */
  readonly load: NodeLoadSource;
  /** When the machine was started, by the wall clock; 0: unknown. */
  readonly bootedAtMs: number;
  readonly components: readonly Component[];
}

export function assembleStats(input: StatsInput): AssembledStats {
  const { cgroups, config, cri, flags, gates, machine, metrics } = input;
  const edge = input.edges.stats({
    memoryBytes: Number(machine.memoryBytes),
    swapBytes: Number(machine.swapBytes ?? 0n),
    onUnreadable: (path, err) => stats.unreadable(path, err),
  });
  const places = cgroups === undefined || !config.cgroupsPerQOS ? undefined : cgroupPlaces(config, cgroups);
  const stats = new Stats({
    ...input,
    observed: input.stores.observed,
    cgroups: edge.cgroups,
    host: edge.host,
    pause: () => edge.pause(),
    runtime: cri,
    places,
    system: systemCgroups(input, edge, places),
    rootDir: flags.rootDir,
    podLogsDir: config.podLogsDir,
    machine: memoizeAsync(() => machineEntry(input, edge)),
    sandboxImage: sandboxImage(input),
    settings: { nodeName: input.nodeName, bootedAtMs: edge.bootedAtMs, psi: gates.KubeletPSI },
  });
  processMetrics(metrics.registry, edge.own);
  const loopDelay = loopDelayMetrics(metrics.registry, input.edges.loopDelay, input.clock);
  podCountMetrics({ registry: metrics.registry, ...input.stores });
  nodeInfoMetrics(metrics.registry, {
    cgroupVersion: machine.cgroupVersion,
    build: buildInfo(input.edges.nodeHost.architecture(), edge.own.version),
  });
  followPods(input);
  const closing: Component = {
    name: 'process-figures',
    start: (signal) => {
      const stopped = new Promise<void>((resolve) =>
        signal.addEventListener('abort', () => resolve(edge.own.close()), { once: true }),
      );
      return Promise.resolve({ stopped });
    },
  };
  return {
    handlers: statsHandlers({ stats, diskMetrics: new DiskMetrics(metrics.registry), metrics }),
    load: stats,
    bootedAtMs: edge.bootedAtMs,
    components: [stats, closing, loopDelay],
  };
}

/** Each pod's way to running, for how long it took. */
function followPods({ metrics, stores }: StatsInput): void {
  const { desired, lifecycles, statuses } = stores;
  const { podStarts } = metrics;
  desired.changed.subscribe((uid) => podStarts.wanted(uid, desired.get(uid)?.pod));
  lifecycles.changed.subscribe((uid) => podStarts.worked(uid));
  statuses.changed.subscribe((uid) => podStarts.told(uid, desired.get(uid)?.pod, statuses.get(uid)));
}

/** In the words of upstream's build; what a build of Go alone has is empty. */
export function buildInfo(architecture: string, nodeVersion: string) {
  return {
    major: String(versionNumbers.major),
    minor: String(versionNumbers.minor),
    git_version: kubeletVersion,
    git_commit: '',
    git_tree_state: '',
    build_date: '',
    go_version: '',
    compiler: `node ${nodeVersion}`,
    platform: `linux/${architecture}`,
  };
}

function cgroupPlaces(config: KubeletConfiguration, cgroups: Pick<Cgroups, 'path' | 'nameOf'>): CgroupPlaces {
  const root = [...config.cgroupRoot.split('/').filter((part) => part !== ''), 'kubepods'];
  return {
    root: cgroups.path(root),
    classes: [[], ['burstable'], ['besteffort']].map((parts) => cgroups.path([...root, ...parts])),
    uidOf: (path) => /^pod(.+)$/.exec(cgroups.nameOf(path).at(-1) ?? '')?.[1],
  };
}

/** Where the operator says nothing, the kubelet's own is where it runs; the top is the machine, not the kubelet. */
function systemCgroups(input: StatsInput, edge: StatsEdge, places: CgroupPlaces | undefined) {
  const { config, flags } = input;
  const startedAtMs = input.clock.now();
  return (): readonly SystemCgroup[] => {
    const own = config.kubeletCgroups || edge.host.ownCgroup(edge.cgroups?.version ?? 2) || '';
    const named = [
      { name: 'kubelet', path: own, startedAtMs },
      { name: 'runtime', path: flags.runtimeCgroups },
      { name: 'misc', path: config.systemCgroups },
      { name: 'pods', path: places?.root ?? '' },
    ];
    return named.filter(({ path }) => path !== '' && path !== '/');
  };
}

async function machineEntry(input: StatsInput, edge: StatsEdge): Promise<MachineEntry> {
  const { bootID, kernelVersion, machineID, osImage, swapBytes, systemUUID } =
    await input.edges.nodeHost.identity();
  return {
    bootId: bootID,
    machineId: machineID,
    systemUuid: systemUUID,
    ...(await edge.host.topology()),
    memoryBytes: Number(input.machine.memoryBytes),
    swapBytes,
    kernelVersion,
    osVersion: osImage,
  };
}

/** Dashboards take what has no image for no container. A runtime that does not say is asked again. */
function sandboxImage({ cri, flags }: StatsInput): () => Promise<string> {
  const learn = memoizeAsync(async () => {
    const { info } = await cri.status({ verbose: true }, { timeoutMs: 2_000 });
    return /"sandboxImage":\s*"([^"]+)"/.exec(info['config'] ?? '')?.[1] ?? flags.podInfraContainerImage;
  });
  return () => learn().catch(() => flags.podInfraContainerImage);
}
