// Converts collected statistics to the NodeLoad that eviction decides by: the figures behind the eviction signals, per node
// and per pod. Invariant: an unknown figure is undefined, never 0. Pure.
// Upstream: makeSignalObservations in pkg/kubelet/eviction/helpers.go.
import type { ContainerLoad, DiskRoom, NodeLoad, PodLoad } from '../api/ports/node-usage.ts';
import type { FileSystemSpace } from '../api/ports/volume-host.ts';
import type { ContainerUsage, PodUsageParts } from './collect/collect-usage.ts';
import type { Collected } from './summary/summarize.ts';
import { diskOf, ephemeralUsed, runtimeFsJson } from './summary/summarize-disk.ts';

export function nodeLoad(collected: Collected): NodeLoad {
  const { disk, imageFs, spaces, tasks, usage } = collected;
  const { max, current } = tasks;
  const memory = usage.node?.memory;
  const pods = usage.system.find(({ name }) => name === 'pods')?.usage.memory;
  return {
    atMs: collected.atMs,
    memory: memory && {
      capacityBytes: memory.limitBytes,
      workingSetBytes: memory.workingSetBytes,
      availableBytes: Math.max(memory.limitBytes - memory.workingSetBytes, 0),
    },
    podMemory:
      pods === undefined || !Number.isFinite(pods.limitBytes)
        ? undefined
        : { limitBytes: pods.limitBytes, workingSetBytes: pods.workingSetBytes },
    nodeFs: roomOf(disk.nodeFs),
    imageFs: roomOf(spaces.get(imageFs?.fsId?.mountpoint ?? '')),
    processes: max === undefined || current === undefined ? undefined : { max, current },
    pods: usage.pods.map((parts) => podLoad(parts, collected)),
  };
}

function roomOf(space: FileSystemSpace | undefined): DiskRoom | undefined {
  if (space === undefined) return undefined;
  const { availableBytes, capacityBytes, inodes, inodesFree } = space;
  return { availableBytes, capacityBytes, inodes, inodesFree };
}

function podLoad(parts: PodUsageParts, collected: Collected): PodLoad {
  const { pod, usage } = parts;
  const own = diskOf(collected.disk, pod.uid);
  const containers = parts.containers.map((each) => containerLoad(each, own.logs, collected));
  const counted = parts.containers.filter(({ path }) => path !== undefined);
  const written = containers.map(({ writtenBytes, writtenInodes }) => ({
    time: '',
    ...(writtenBytes === undefined ? {} : { usedBytes: writtenBytes }),
    ...(writtenInodes === undefined ? {} : { inodesUsed: writtenInodes }),
  }));
  const used = ephemeralUsed(own, written);
  return {
    uid: pod.uid,
    workingSetBytes: usage?.memory?.workingSetBytes,
    ephemeralBytes: used.bytes ?? 0,
    ephemeralInodes: used.inodes ?? 0,
    processes:
      counted.length === 0 ? undefined : counted.reduce((sum, each) => sum + (each.usage?.processes ?? 0), 0),
    containers,
    volumes: own.volumes,
  };
}

function containerLoad(
  { container, usage }: ContainerUsage,
  logs: ReadonlyMap<string, { readonly bytes: number }>,
  { containers, spaces }: Collected,
): ContainerLoad {
  const written = runtimeFsJson(containers.get(container.id)?.writableLayer, spaces);
  return {
    name: container.name,
    workingSetBytes: usage?.memory?.workingSetBytes,
    writtenBytes: written?.usedBytes,
    writtenInodes: written?.inodesUsed,
    logBytes: logs.get(container.name)?.bytes ?? 0,
  };
}
