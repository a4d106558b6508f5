// Converts disk usage to parts of the summary. Pure. Upstream: pkg/kubelet/stats/helper.go (calcEphemeralStorage) and
// volume_stat_calculator.go.
import type { FilesystemUsage } from '../../api/cri/generated/runtime/v1/api.ts';
import type { FilesUsage } from '../../api/ports/host-usage.ts';
import type { FileSystemSpace } from '../../api/ports/volume-host.ts';
import type { VolumeUsage } from '../../api/ports/volume-stats.ts';
import type { CollectedDisk, PodDisk } from '../collect/collect-disk.ts';
import { timeText } from './summarize-usage.ts';
import type { FsJson, VolumeJson } from './summary.ts';

type Used = { readonly bytes?: number | undefined; readonly inodes?: number | undefined };

/** The usage of one consumer, with capacity and free space of its file system. */
export function fsJson(atMs: number, space: FileSystemSpace | undefined, used: Used): FsJson {
  return {
    time: timeText(atMs),
    ...(space === undefined
      ? {}
      : { availableBytes: space.availableBytes, capacityBytes: space.capacityBytes }),
    ...(used.bytes === undefined ? {} : { usedBytes: used.bytes }),
    ...(space === undefined ? {} : { inodesFree: space.inodesFree, inodes: space.inodes }),
    ...(used.inodes === undefined ? {} : { inodesUsed: used.inodes }),
  };
}

/** The file system as a whole. */
export function wholeFsJson(atMs: number, space: FileSystemSpace | undefined): FsJson | undefined {
  if (space === undefined) return undefined;
  return fsJson(atMs, space, { bytes: space.usedBytes, inodes: space.inodes - space.inodesFree });
}

/** Usage reported by the runtime: images, or a container's writable layer. */
export function runtimeFsJson(
  usage: FilesystemUsage | undefined,
  spaces: ReadonlyMap<string, FileSystemSpace>,
): FsJson | undefined {
  if (usage === undefined) return undefined;
  const value = (field: FilesystemUsage['usedBytes']): number | undefined =>
    field === undefined ? undefined : Number(field.value);
  return fsJson(Number(usage.timestamp / 1_000_000n), spaces.get(usage.fsId?.mountpoint ?? ''), {
    bytes: value(usage.usedBytes),
    inodes: value(usage.inodesUsed),
  });
}

/** Local ephemeral volumes first, as upstream. */
export function volumesJson(volumes: readonly VolumeUsage[]): readonly VolumeJson[] {
  const local = volumes.filter(({ isLocalEphemeral }) => isLocalEphemeral);
  const others = volumes.filter(({ isLocalEphemeral }) => !isLocalEphemeral);
  return [...local, ...others].map((volume) => ({
    ...fsJson(volume.measuredAtMs, volume, { bytes: volume.usedBytes, inodes: volume.inodesUsed }),
    name: volume.name,
    ...(volume.claim === undefined
      ? {}
      : { pvcRef: { name: volume.claim.name, namespace: volume.claim.namespace } }),
  }));
}

/** The pod's local ephemeral storage: writable layers, logs, hosts file and ephemeral volumes. */
export function ephemeralUsed(disk: Omit<PodDisk, 'pod'>, written: readonly Used[]): Used {
  const parts: readonly Used[] = [
    ...written,
    ...disk.logs.values(),
    ...disk.others,
    ...disk.volumes
      .filter(({ isLocalEphemeral }) => isLocalEphemeral)
      .map(({ inodesUsed, usedBytes }): FilesUsage => ({ bytes: usedBytes, inodes: inodesUsed })),
  ];
  const sum = (pick: (used: Used) => number | undefined): number =>
    parts.reduce((total, part) => total + (pick(part) ?? 0), 0);
  return { bytes: sum(({ bytes }) => bytes), inodes: sum(({ inodes }) => inodes) };
}

export function diskOf(disk: CollectedDisk, uid: string): Omit<PodDisk, 'pod'> {
  return disk.pods.get(uid) ?? { volumes: [], logs: new Map(), others: [] };
}
