// Measures the usage of a directory and the space of its file system. Upstream: pkg/volume/util/fs (DiskUsage, Info).
// Invariants: no link is followed and no other file system entered; a hard-linked file counts once; entries are processed in
// slices so that the event loop is not blocked; large trees are left to the usage thread.
import { lstat, statfs } from 'node:fs/promises';
import type { DiskUsage, FileSystemSpace } from '../../../api/ports/volume-host.ts';
import { fromRaw, toRaw } from '../raw-names.ts';
import { directorySlices } from './directory-slices.ts';
import { isGone, UsageCount } from './usage-count.ts';

/** Leaves room for the name of an entry within the kernel's limit. */
const maxPathBytes = 1_024;

export async function diskUsage(path: string, signal: AbortSignal): Promise<DiskUsage> {
  const counted = await smallDiskUsage(path, Number.POSITIVE_INFINITY, signal);
  if (counted === undefined) throw new Error('the tree is too deep to be measured in the main thread');
  return counted;
}

/** Undefined if the tree has more than maxEntries entries, or its paths are too long. */
export async function smallDiskUsage(
  path: string,
  maxEntries: number,
  signal: AbortSignal,
): Promise<DiskUsage | undefined> {
  const root = await lstat(path, { bigint: true });
  const count = new UsageCount(root);
  const directories = root.isDirectory() ? [{ path: toRaw(path) as string, size: root.size }] : [];
  let entries = 0;
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    const { path: at, size } = directory;
    if (at.length > maxPathBytes) return undefined;
    for await (const found of existing(directorySlices(fromRaw(at), Number(size)))) {
      signal.throwIfAborted();
      entries += found.length;
      if (entries > maxEntries) return undefined;
      const slice = found.map(({ name }) => `${at}/${name}`);
      const stats = await Promise.all(slice.map((each) => orGone(lstat(fromRaw(each), { bigint: true }))));
      for (const [index, stat] of stats.entries())
        if (stat !== undefined && count.add(stat))
          directories.push({ path: slice[index] ?? '', size: stat.size });
    }
  }
  return count.total();
}

export async function fileSystemSpace(path: string): Promise<FileSystemSpace> {
  const { bsize, blocks, bavail, bfree, files, ffree } = await statfs(path);
  return {
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}

/** Treats a removed directory as empty. */
async function* existing<T>(slices: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* slices;
  } catch (err) {
    if (!isGone(err)) throw err;
  }
}

async function orGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (err) {
    if (isGone(err)) return undefined;
    throw err;
  }
}
