// Builds the summary from the collected statistics. Pure. Upstream: pkg/kubelet/server/stats/summary.go and
// pkg/kubelet/stats/cri_stats_provider.go (listPodStatsPartiallyFromCRI, ListPodCPUAndMemoryStats).
import type { ContainerStats, FilesystemUsage } from '../../api/cri/generated/runtime/v1/api.ts';
import type { TaskCounts } from '../../api/ports/host-usage.ts';
import type { FileSystemSpace } from '../../api/ports/volume-host.ts';
import type { CollectedDisk } from '../collect/collect-disk.ts';
import type { CollectedNetwork } from '../collect/collect-network.ts';
import type { CollectedUsage, ContainerUsage, PodUsageParts, SystemUsage } from '../collect/collect-usage.ts';
import { diskOf, ephemeralUsed, fsJson, runtimeFsJson, volumesJson, wholeFsJson } from './summarize-disk.ts';
import { defined, networkJson, timeText, type UsageJson, usageJson } from './summarize-usage.ts';
import type { ContainerJson, PodJson, Summary } from './summary.ts';

export interface SummarySettings {
  readonly nodeName: string;
  readonly bootedAtMs: number;
  /** The feature gate KubeletPSI. */
  readonly psi: boolean;
  /** Memory of huge pages, which no other memory can use; 0 without the gate HugepageAwareEviction. */
  readonly hugePageBytes: number;
}

/** One collection of all statistics. */
export interface Collected {
  readonly usage: CollectedUsage;
  readonly disk: CollectedDisk;
  readonly network: CollectedNetwork;
  /** The runtime's container statistics, by ID. */
  readonly containers: ReadonlyMap<string, ContainerStats>;
  readonly imageFs: FilesystemUsage | undefined;
  /** Space of the file systems that the runtime reported, by mount point. */
  readonly spaces: ReadonlyMap<string, FileSystemSpace>;
  readonly tasks: TaskCounts;
  readonly defaultInterface: string | undefined;
  readonly atMs: number;
  readonly faults: readonly string[];
}

export function summarize(collected: Collected, settings: SummarySettings): Summary {
  const { disk, network, tasks, usage } = collected;
  const node = nodeUsageJson(usage, settings);
  const nodeAtMs = usage.node?.atMs ?? usage.atMs;
  const fs = wholeFsJson(nodeAtMs, disk.nodeFs);
  const imageFs = runtimeFsJson(collected.imageFs, collected.spaces);
  const net = networkJson(network.node, nodeAtMs, [collected.defaultInterface]);
  return {
    node: {
      nodeName: settings.nodeName,
      ...systemContainers(usage.system, settings),
      startTime: timeText(settings.bootedAtMs),
      ...cpuMemoryIo(node),
      ...(net === undefined ? {} : { network: net }),
      ...(fs === undefined ? {} : { fs }),
      runtime: imageFs === undefined ? {} : { imageFs, containerFs: imageFs },
      rlimit: {
        time: timeText(collected.atMs),
        ...defined('maxpid', tasks.max),
        ...defined('curproc', tasks.current),
      },
      ...swapField(node),
    },
    pods: usage.pods.map((parts) => podJson(parts, collected, settings)),
  };
}

/** CPU and memory only, for ?only_cpu_and_memory=true. */
export function summarizeUsage(usage: CollectedUsage, settings: SummarySettings): Summary {
  const withoutIo = (each: UsageJson): UsageJson => ({
    ...(each.cpu === undefined ? {} : { cpu: each.cpu }),
    ...(each.memory === undefined ? {} : { memory: each.memory }),
    ...swapField(each),
  });
  const system = usage.system.map(({ name, startedAtMs, usage: own }) => ({
    name,
    startTime: timeText(startedAtMs),
    ...withoutIo(usageJson(own, settings)),
  }));
  return {
    node: {
      nodeName: settings.nodeName,
      ...(system.length === 0 ? {} : { systemContainers: system }),
      startTime: timeText(settings.bootedAtMs),
      ...withoutIo(nodeUsageJson(usage, settings)),
    },
    pods: usage.pods.map((parts) => ({
      ...refOf(parts),
      containers: parts.containers.map(({ container, usage: own }) => ({
        name: container.name,
        startTime: timeText(container.createdAtMs),
        ...withoutIo(usageJson(own, settings)),
      })),
      ...withoutIo(usageJson(parts.usage, settings)),
    })),
  };
}

/** The machine's memory limit includes the huge pages, whose use is not part of any cgroup's working set. */
function nodeUsageJson(usage: CollectedUsage, settings: SummarySettings): UsageJson {
  const node = usageJson(usage.node, settings);
  if (node.memory?.availableBytes === undefined) return node;
  const availableBytes = Math.max(node.memory.availableBytes - settings.hugePageBytes, 0);
  return { ...node, memory: { ...node.memory, availableBytes } };
}

function podJson(parts: PodUsageParts, collected: Collected, settings: SummarySettings): PodJson {
  const { pod, usage } = parts;
  const { disk, network } = collected;
  const own = diskOf(disk, pod.uid);
  const containers = parts.containers.map((each) => containerJson(each, pod.uid, collected, settings));
  const pods = usageJson(usage, settings);
  const net = networkJson(network.pods.get(pod.uid), usage?.atMs ?? collected.atMs, [
    network.pods.get(pod.uid)?.[0]?.name,
  ]);
  const volumes = volumesJson(own.volumes);
  const written = containers.map(({ rootfs }) => ({ bytes: rootfs?.usedBytes, inodes: rootfs?.inodesUsed }));
  const counted = parts.containers.filter(({ path }) => path !== undefined);
  return {
    ...refOf(parts),
    containers,
    ...cpuMemoryIo(pods),
    ...(net === undefined ? {} : { network: net }),
    ...(volumes.length === 0 ? {} : { volume: volumes }),
    'ephemeral-storage': fsJson(disk.atMs, disk.nodeFs, ephemeralUsed(own, written)),
    ...(counted.length === 0
      ? {}
      : {
          process_stats: {
            process_count: counted.reduce((sum, each) => sum + (each.usage?.processes ?? 0), 0),
          },
        }),
    ...swapField(pods),
  };
}

function containerJson(
  { container, usage }: ContainerUsage,
  uid: string,
  collected: Collected,
  settings: SummarySettings,
): ContainerJson {
  const { containers, disk, spaces } = collected;
  const own = usageJson(usage, settings);
  const rootfs = runtimeFsJson(containers.get(container.id)?.writableLayer, spaces);
  const files = diskOf(disk, uid).logs.get(container.name);
  return {
    name: container.name,
    startTime: timeText(container.createdAtMs),
    ...cpuMemoryIo(own),
    ...(rootfs === undefined ? {} : { rootfs }),
    ...(files === undefined ? {} : { logs: fsJson(disk.atMs, disk.nodeFs, files) }),
    ...swapField(own),
  };
}

function systemContainers(system: readonly SystemUsage[], settings: SummarySettings) {
  if (system.length === 0) return {};
  return {
    systemContainers: system.map(({ name, startedAtMs, usage }): ContainerJson => {
      const own = usageJson(usage, settings);
      return { name, startTime: timeText(startedAtMs), ...cpuMemoryIo(own), ...swapField(own) };
    }),
  };
}

function refOf({ pod, sandbox }: PodUsageParts) {
  return {
    podRef: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
    // The sandbox's creation time, as upstream.
    startTime: timeText(sandbox.createdAtMs),
  };
}

/** In Go's field order, which has other parts before swap. */
function cpuMemoryIo({ cpu, io, memory }: UsageJson) {
  return {
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(io === undefined ? {} : { io }),
  };
}

function swapField({ swap }: UsageJson) {
  return swap === undefined ? {} : { swap };
}
