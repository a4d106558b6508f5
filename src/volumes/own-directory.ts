// The directory of a volume whose content is the kubelet's own or the containers': on disk or a file system in memory, and
// marked when it is complete. Shared by emptyDir and by the volumes that hold files of the cluster.
// Upstream: pkg/volume/emptydir, which upstream's other plugins wrap; the marker is pkg/volume/util (SetReady).
// Invariants: never mounted twice, also when the kubelet was killed between the mount and its mark; taken down from what is
// on disk alone.
import type { VolumeHost } from '../api/volume-host.ts';
import { isKind } from '../base/errors.ts';
import { readyDir, type VolumeLayout } from './layout.ts';
import type { VolumeOnDisk, VolumeStats } from './plugin.ts';

export interface OwnDirectoryDeps {
  readonly host: VolumeHost;
  readonly layout: VolumeLayout;
}

export type Medium =
  | { readonly kind: 'disk' }
  | { readonly kind: 'memory'; readonly sizeBytes: bigint | undefined }
  | { readonly kind: 'huge-pages'; readonly pageSizeBytes: bigint };

const mode = 0o777;
const mountedTypes: Readonly<Record<string, string>> = { memory: 'tmpfs', 'huge-pages': 'hugetlbfs' };

/** Resolves to whether the directory was complete before. `marker` names its mark, which differs for wrapped volumes. */
export async function makeOwnDirectory(
  { host, layout }: OwnDirectoryDeps,
  volume: VolumeOnDisk,
  marker: string,
  medium: Medium,
): Promise<boolean> {
  const { path, uid } = volume;
  const mark = `${readyDir(layout, uid, marker)}/ready`;
  const wasReady = (await host.kindOf(mark)) === 'file';
  if (medium.kind === 'disk') {
    if (wasReady && (await host.kindOf(path)) === 'directory') return true;
    await host.makeDirectory(path, mode);
  } else {
    const isMounted = await isMountedAs(host, path, mountedTypes[medium.kind] ?? '');
    if (wasReady && isMounted) return true;
    if (!isMounted) {
      await host.makeDirectory(path, mode);
      if (medium.kind === 'memory') await host.mountTmpfs(path, medium.sizeBytes);
      else await host.mountHugePages(path, medium.pageSizeBytes);
      // The root of the new file system has a mode of its own.
      await host.makeDirectory(path, mode);
    }
  }
  return false;
}

export async function markComplete(
  { host, layout }: OwnDirectoryDeps,
  uid: string,
  marker: string,
): Promise<void> {
  const directory = readyDir(layout, uid, marker);
  await host.makeDirectory(directory, 0o750);
  await host.makeFile(`${directory}/ready`, 0o644);
}

export async function isMarkedComplete(
  { host, layout }: OwnDirectoryDeps,
  uid: string,
  marker: string,
): Promise<boolean> {
  return (await host.kindOf(`${readyDir(layout, uid, marker)}/ready`)) === 'file';
}

/** Unmounts it when it is mounted, then removes it with its content, then its mark. */
export async function removeOwnDirectory(
  { host, layout }: OwnDirectoryDeps,
  volume: VolumeOnDisk,
  marker: string,
): Promise<void> {
  const { path, uid } = volume;
  // The mark goes first: what is half removed is not complete.
  await host.removeTree(readyDir(layout, uid, marker));
  await host.unmount(path);
  await host.removeTree(path);
}

async function isMountedAs(host: VolumeHost, path: string, fsType: string): Promise<boolean> {
  return (await host.mountsBelow(path)).some((mount) => mount.path === path && mount.fsType === fsType);
}

/** What is in it by looking at every entry, and what its file system has left. */
export async function ownDirectoryStats(
  host: VolumeHost,
  path: string,
  signal: AbortSignal,
): Promise<VolumeStats | undefined> {
  try {
    const [usage, space] = await Promise.all([host.usage(path, signal), host.space(path)]);
    return {
      usedBytes: usage.bytes,
      inodesUsed: usage.inodes,
      capacityBytes: space.capacityBytes,
      availableBytes: space.availableBytes,
      inodes: space.inodes,
      inodesFree: space.inodesFree,
    };
  } catch (err) {
    // It went away while we looked.
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  }
}
