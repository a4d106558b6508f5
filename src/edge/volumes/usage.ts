// How much a directory holds, and how much room its file system has. Upstream: pkg/volume/util/fs (DiskUsage, Info).
// Invariants: no link is followed, no other file system entered; a file with several names counts once; entries are looked
// at in slices, so that the event loop goes on beside a tree of any size.
import type { BigIntStats } from 'node:fs';
import { lstat, statfs } from 'node:fs/promises';
import type { DiskUsage, FileSystemSpace } from '../../api/volume-host.ts';
import { errorCode } from '../host/syscalls-errors.ts';
import { directorySlices } from './directory-slices.ts';

const blockBytes = 512n;

export async function diskUsage(path: string, signal: AbortSignal): Promise<DiskUsage> {
  const root = await lstat(path, { bigint: true });
  const seen = new Set<bigint>();
  let blocks = 0n;
  let inodes = 0;
  const count = (stat: BigIntStats): void => {
    if (stat.nlink > 1n && !stat.isDirectory()) {
      if (seen.has(stat.ino)) return;
      seen.add(stat.ino);
    }
    blocks += stat.blocks;
    inodes++;
  };
  count(root);
  const directories = root.isDirectory() ? [path] : [];
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    for await (const entries of existing(directorySlices(directory))) {
      signal.throwIfAborted();
      const slice = entries.map(({ name }) => `${directory}/${name}`);
      const stats = await Promise.all(slice.map((each) => orGone(lstat(each, { bigint: true }), undefined)));
      for (const [index, stat] of stats.entries()) {
        if (stat === undefined || stat.dev !== root.dev) continue;
        count(stat);
        if (stat.isDirectory()) directories.push(slice[index] ?? '');
      }
    }
  }
  return { bytes: Number(blocks * blockBytes), inodes };
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

/** Files come and go while we look. */
async function orGone<T, U>(work: Promise<T>, gone: U): Promise<T | U> {
  try {
    return await work;
  } catch (err) {
    if (isGone(err)) return gone;
    throw err;
  }
}

function isGone(err: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(errorCode(err) ?? '');
}
