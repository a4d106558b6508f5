// Volumes that are directories below the driver's data: a plain one, or one with a tmpfs, which can grow while it is mounted.
// Both are bind-mounted. The tmpfs stays mounted in the data directory, since it holds the contents.
import { existsSync, mkdirSync, readdirSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bind, isSame, mountsAt, mustRun } from '../host.ts';
import type { VolumeRecord } from '../volume-store.ts';
import { type KindOfVolume, markerName, markerText, type Usage } from './volume-kind.ts';

type FolderOf = (handle: string) => string;

function writeMarker(volume: VolumeRecord, root: string): void {
  if (!existsSync(join(root, markerName))) writeFileSync(join(root, markerName), markerText(volume));
}

/** What both have in common. */
function bound(
  rootOf: (volume: VolumeRecord) => string,
): Pick<KindOfVolume, 'detach' | 'mount' | 'isMountedAt' | 'isStagedAt' | 'mark'> {
  const isMountedAt = (volume: VolumeRecord, path: string): boolean =>
    mountsAt(path).length > 0 && isSame(rootOf(volume), path);
  return {
    detach: async () => undefined,
    mount: bind,
    isMountedAt,
    isStagedAt: isMountedAt,
    // Done by attach().
    mark: () => undefined,
  };
}

export function directoryKind(folder: FolderOf): KindOfVolume {
  const rootOf = ({ handle }: VolumeRecord): string => join(folder(handle), 'fs');
  return {
    ...bound(rootOf),
    async attach(volume) {
      const root = rootOf(volume);
      mkdirSync(root, { recursive: true });
      writeMarker(volume, root);
      return root;
    },
    grow: async () => undefined,
    async usage(volume, path) {
      const { bytes, files } = countFiles(path);
      const limit = volume.sizeBytes;
      return {
        bytes: { total: limit, used: bytes, available: limit - bytes },
        inodes: { total: 1_000, used: files, available: 1_000 - files },
      };
    },
    destroy: async () => undefined,
  };
}

export function tmpfsKind(folder: FolderOf): KindOfVolume {
  const own = ({ handle }: VolumeRecord): string => join(folder(handle), 'fs');
  // A kubelet does not have a volume unstaged while its root is mounted anywhere else.
  const content = (volume: VolumeRecord): string => join(own(volume), 'content');
  return {
    ...bound(content),
    async attach(volume) {
      mkdirSync(own(volume), { recursive: true });
      if (mountsAt(own(volume)).length === 0)
        await mustRun('mount', '-t', 'tmpfs', '-o', `size=${volume.sizeBytes}`, 'tmpfs', own(volume));
      mkdirSync(content(volume), { recursive: true });
      writeMarker(volume, content(volume));
      return content(volume);
    },
    async grow(volume, bytes) {
      await mustRun('mount', '-o', `remount,size=${bytes}`, own(volume));
    },
    usage: async (_volume, path) => fileSystemUsage(path),
    async destroy(volume) {
      if (mountsAt(own(volume)).length > 0) await mustRun('umount', own(volume));
    },
  };
}

export function fileSystemUsage(path: string): { readonly bytes: Usage; readonly inodes: Usage } {
  const { bsize, blocks, bfree, bavail, files, ffree } = statfsSync(path);
  return {
    bytes: { total: blocks * bsize, used: (blocks - bfree) * bsize, available: bavail * bsize },
    inodes: { total: files, used: files - ffree, available: ffree },
  };
}

/** Volumes of tests have few files. */
function countFiles(dir: string): { readonly bytes: number; readonly files: number } {
  const entries = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  const found = entries.map((name) => statSync(join(dir, name), { throwIfNoEntry: false }));
  return {
    bytes: found.reduce((sum, stats) => sum + (stats?.isFile() ? stats.size : 0), 0),
    files: found.length,
  };
}
