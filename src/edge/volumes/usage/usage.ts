// How much a directory holds, and how much room its file system has. Upstream: pkg/volume/util/fs (DiskUsage, Info).
// Invariants: no link is followed, no other file system entered; a file with several names counts once; entries are looked
// at in slices, so that the event loop goes on, and a large tree is left to a thread of its own.
import { lstat, statfs } from 'node:fs/promises';
import type { DiskUsage, FileSystemSpace } from '../../../api/ports/volume-host.ts';
import { fromRaw, toRaw } from '../raw-names.ts';
import { directorySlices } from './directory-slices.ts';
import { isGone, UsageCount } from './usage-count.ts';

/** Room for the name of an entry is left in what the kernel takes. */
const longestPath = 1_024;

export async function diskUsage(path: string, signal: AbortSignal): Promise<DiskUsage> {
  const counted = await smallDiskUsage(path, Number.POSITIVE_INFINITY, signal);
  if (counted === undefined) throw new Error('the tree is too deep to be measured beside the event loop');
  return counted;
}

/** Undefined when there are more entries than these, or the paths to them are too long: nothing is known then. */
export async function smallDiskUsage(
  path: string,
  mostEntries: number,
  signal: AbortSignal,
): Promise<DiskUsage | undefined> {
  const root = await lstat(path, { bigint: true });
  const count = new UsageCount(root);
  const directories = root.isDirectory() ? [{ path: toRaw(path) as string, size: root.size }] : [];
  let entries = 0;
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    const { path: at, size } = directory;
    if (at.length > longestPath) return undefined;
    for await (const found of existing(directorySlices(fromRaw(at), Number(size)))) {
      signal.throwIfAborted();
      entries += found.length;
      if (entries > mostEntries) return undefined;
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

/** A directory that has gone has nothing in it. */
async function* existing<T>(slices: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* slices;
  } catch (err) {
    if (!isGone(err)) throw err;
  }
}

async function orGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (err) {
    if (isGone(err)) return undefined;
    throw err;
  }
}
