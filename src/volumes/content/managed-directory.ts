// The directory of a volume that the kubelet creates and removes: on disk, or a file system in memory, with a marker file once
// it is complete. Shared by emptyDir and the volumes whose files the kubelet writes.
// Upstream: pkg/volume/emptydir, which upstream's other plugins wrap; the marker is pkg/volume/util (SetReady).
// Invariants: never mounted twice, even if the kubelet was killed between mount and marker; removal relies only on what is on
// disk.
import type { Allocatable } from '../../api/pod/pod-fields.ts';
import type { VolumeHost, VolumeRemains } from '../../api/ports/volume-host.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { settleAll } from '../../base/abort/settle-all.ts';
import { isKind } from '../../base/errors.ts';
import { readyDir, type VolumeLayout } from '../layout.ts';
import type { VolumeOnDisk, VolumeStats } from '../plugin.ts';

export interface ManagedDirectoryDeps {
  readonly host: VolumeHost;
  readonly layout: VolumeLayout;
}

export type Medium =
  | { readonly kind: 'disk' }
  | { readonly kind: 'memory'; readonly sizeBytes: bigint | undefined }
  | { readonly kind: 'huge-pages'; readonly pageSizeBytes: bigint };

/** The node's allocatable memory, the upper bound of a file system in memory. */
export function memoryBytes(allocatable: Allocatable): bigint {
  return Quantity.fromJson(allocatable['memory'] ?? '0').value();
}

const mode = 0o777;
/** For mount points and marker directories, which only root needs to enter. */
const hiddenMode = 0o750;
const fsTypes = { memory: 'tmpfs', 'huge-pages': 'hugetlbfs' } as const;

/** New: just created. Partial: an earlier set-up was interrupted. */
type DirectoryState = 'new' | 'partial' | 'complete';

interface ManagedDirectory {
  /** Name of its marker, which differs between emptyDir and the volumes that wrap it. */
  readonly marker: string;
  readonly medium: Medium;
  /** Whether this process has completed it before. */
  readonly isRemount: boolean;
}

/** Creates the directory, mounts its file system if it has one, and returns the state it found. */
export async function makeManagedDirectory(
  deps: ManagedDirectoryDeps,
  { path, uid }: VolumeOnDisk,
  { marker, medium, isRemount }: ManagedDirectory,
): Promise<DirectoryState> {
  const { host, layout } = deps;
  if (isRemount && (await isComplete(deps, { path, uid, marker, medium }))) return 'complete';
  // Both directories are created in parallel, so that only the marker file remains to be created at the end.
  const [isNew = false] = await settleAll([
    host.makeDirectory(path, medium.kind === 'disk' ? mode : hiddenMode),
    host.makeDirectory(readyDir(layout, uid, marker), hiddenMode),
  ]);
  if (medium.kind !== 'disk') {
    // A new directory is neither mounted nor complete; no further check is needed.
    const isMounted = !isNew && (await host.isMountedAs(path, fsTypes[medium.kind]));
    if (!isMounted) {
      if (medium.kind === 'memory') await host.mountTmpfs(path, medium.sizeBytes);
      else await host.mountHugePages(path, medium.pageSizeBytes);
      return 'new';
    }
  }
  if (isNew) return 'new';
  if (await isMarkedComplete(deps, uid, marker)) return 'complete';
  // The set-up may have been interrupted before it set the mode. Once complete, containers may have changed the mode.
  await host.setMode(path, mode);
  return 'partial';
}

async function isComplete(
  deps: ManagedDirectoryDeps,
  directory: {
    readonly path: string;
    readonly uid: string;
    readonly marker: string;
    readonly medium: Medium;
  },
): Promise<boolean> {
  const { path, uid, marker, medium } = directory;
  const checks = [isMarkedComplete(deps, uid, marker)];
  if (medium.kind !== 'disk') checks.push(deps.host.isMountedAs(path, fsTypes[medium.kind]));
  return (await settleAll(checks)).every(Boolean);
}

export async function markComplete(
  { host, layout }: ManagedDirectoryDeps,
  uid: string,
  marker: string,
): Promise<void> {
  await host.makeFile(`${readyDir(layout, uid, marker)}/ready`, 0o644);
}

export async function isMarkedComplete(
  { host, layout }: ManagedDirectoryDeps,
  uid: string,
  marker: string,
): Promise<boolean> {
  return (await host.kindOf(`${readyDir(layout, uid, marker)}/ready`)) === 'file';
}

/** Removes the marker, unmounts the directory if it is mounted, and removes it with its content. */
export async function removeManagedDirectory(
  { host, layout }: ManagedDirectoryDeps,
  { path, uid }: VolumeOnDisk,
  { marker, remains }: { readonly marker: string; readonly remains: VolumeRemains },
): Promise<void> {
  // The marker is removed first: a partly removed directory is not complete.
  await host.removeFiles(readyDir(layout, uid, marker), ['ready']);
  await host.removeVolume(path, remains);
}

/** The usage of the directory, and the free space of its file system. */
export async function managedDirectoryStats(
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
    // The directory was removed during the measurement.
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  }
}
