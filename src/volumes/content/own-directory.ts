// The directory of a volume whose content is the kubelet's own or the containers': on disk or a file system in memory, and
// marked when it is complete. Shared by emptyDir and by the volumes that hold files of the cluster.
// Upstream: pkg/volume/emptydir, which upstream's other plugins wrap; the marker is pkg/volume/util (SetReady).
// Invariants: never mounted twice, also when the kubelet was killed between the mount and its mark; taken down from what is
// on disk alone.
import type { Allocatable } from '../../api/pod/pod-fields.ts';
import type { VolumeHost, VolumeRemains } from '../../api/ports/volume-host.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { settleAll } from '../../base/abort/settle-all.ts';
import { isKind } from '../../base/errors.ts';
import { readyDir, type VolumeLayout } from '../layout.ts';
import type { VolumeOnDisk, VolumeStats } from '../plugin.ts';

export interface OwnDirectoryDeps {
  readonly host: VolumeHost;
  readonly layout: VolumeLayout;
}

export type Medium =
  | { readonly kind: 'disk' }
  | { readonly kind: 'memory'; readonly sizeBytes: bigint | undefined }
  | { readonly kind: 'huge-pages'; readonly pageSizeBytes: bigint };

/** The node's allocatable memory, which bounds every file system in memory. */
export function memoryBytes(allocatable: Allocatable): bigint {
  return Quantity.fromJson(allocatable['memory'] ?? '0').value();
}

const mode = 0o777;
/** Of a directory that is mounted on, and of the marks: what others see there is not theirs, or another's. */
const hiddenMode = 0o750;
const mountedTypes = { memory: 'tmpfs', 'huge-pages': 'hugetlbfs' } as const;

/** New: made just now. Partial: somebody began it and was cut off. */
type DirectoryState = 'new' | 'partial' | 'complete';

interface OwnDirectory {
  /** What names its mark, which differs for wrapped volumes. */
  readonly marker: string;
  readonly medium: Medium;
  /** Whether it was complete when it was asked for last. */
  readonly again: boolean;
}

/** Says what was there before. */
export async function makeOwnDirectory(
  deps: OwnDirectoryDeps,
  { path, uid }: VolumeOnDisk,
  { marker, medium, again }: OwnDirectory,
): Promise<DirectoryState> {
  const { host, layout } = deps;
  if (again && (await isComplete(deps, { path, uid, marker, medium }))) return 'complete';
  // The place of the mark is made beside it: at the end only the mark itself is left to do.
  const [isNew = false] = await settleAll([
    host.makeDirectory(path, medium.kind === 'disk' ? mode : hiddenMode),
    host.makeDirectory(readyDir(layout, uid, marker), hiddenMode),
  ]);
  if (medium.kind !== 'disk') {
    // A directory that was not there is neither mounted nor complete: nothing else has to be looked at.
    const isMounted = !isNew && (await host.isMountedAs(path, mountedTypes[medium.kind]));
    if (!isMounted) {
      if (medium.kind === 'memory') await host.mountTmpfs(path, medium.sizeBytes);
      else await host.mountHugePages(path, medium.pageSizeBytes);
      return 'new';
    }
  }
  if (isNew) return 'new';
  if (await isMarkedComplete(deps, uid, marker)) return 'complete';
  // Whoever made it may have been cut off before its mode was set; once complete, its mode is the containers'.
  await host.setMode(path, mode);
  return 'partial';
}

async function isComplete(
  deps: OwnDirectoryDeps,
  own: { readonly path: string; readonly uid: string; readonly marker: string; readonly medium: Medium },
): Promise<boolean> {
  const { path, uid, marker, medium } = own;
  const looks = [isMarkedComplete(deps, uid, marker)];
  if (medium.kind !== 'disk') looks.push(deps.host.isMountedAs(path, mountedTypes[medium.kind]));
  return (await settleAll(looks)).every(Boolean);
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

/** Removes its mark, then unmounts it when it is mounted and removes it with its content. */
export async function removeOwnDirectory(
  { host, layout }: OwnDirectoryDeps,
  { path, uid }: VolumeOnDisk,
  { marker, remains }: { readonly marker: string; readonly remains: VolumeRemains },
): Promise<void> {
  // The mark goes first: what is half removed is not complete.
  await host.removeFiles(readyDir(layout, uid, marker), ['ready']);
  await host.removeVolume(path, remains);
}

/** What is in it, and what its file system has left. */
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
      source: usage.source,
    };
  } catch (err) {
    // It went away while we looked.
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  }
}
