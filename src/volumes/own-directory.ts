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
const mountedTypes = { memory: 'tmpfs', 'huge-pages': 'hugetlbfs' } as const;

/** New: made just now. Partial: somebody began it and was cut off. */
export type DirectoryState = 'new' | 'partial' | 'complete';

/** Says what was there before. `marker` names its mark, which differs for wrapped volumes. */
export async function makeOwnDirectory(
  deps: OwnDirectoryDeps,
  { path, uid }: VolumeOnDisk,
  marker: string,
  medium: Medium,
): Promise<DirectoryState> {
  const { host } = deps;
  // A directory that was not there is neither mounted nor complete: nothing else has to be looked at.
  const isNew = await host.makeDirectory(path, mode);
  const isReady = !isNew && (await isMarkedComplete(deps, uid, marker));
  if (medium.kind !== 'disk') {
    const isMounted = !isNew && (await isMountedAs(host, path, mountedTypes[medium.kind]));
    if (!isMounted) {
      if (medium.kind === 'memory') await host.mountTmpfs(path, medium.sizeBytes);
      else await host.mountHugePages(path, medium.pageSizeBytes);
      return 'new';
    }
  }
  if (isNew) return 'new';
  if (isReady) return 'complete';
  // Whoever made it may have been cut off before its mode was set; once complete, its mode is the containers'.
  await host.setMode(path, mode);
  return 'partial';
}

export async function markComplete(
  { host, layout }: OwnDirectoryDeps,
  uid: string,
  marker: string,
): Promise<void> {
  await host.makeFile(`${readyDir(layout, uid, marker)}/ready`, 0o644);
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
  const mark = readyDir(layout, uid, marker);
  await host.removeEmpty(`${mark}/ready`);
  await host.removeEmpty(mark);
  await host.unmount(path);
  await host.removeTree(path);
}

export async function isMountedAs(host: VolumeHost, path: string, fsType: string): Promise<boolean> {
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
