// The directories and small files of pods on this node's disk. Invariants: nothing is deleted through a mount; links are
// removed, not followed, even if one is swapped in during the removal (every entry is reached through the open descriptor of
// its directory); no file that a pod can change is read beyond a bound.
import { closeSync, constants } from 'node:fs';
import { lstat, opendir, realpath, stat, symlink, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { type MountEntry, readMountTable } from '../mount/mount-table.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { entryOf, realPathOf } from '../volumes/descriptors.ts';
import { removeDirectory } from '../volumes/remove-directory.ts';
import {
  createDirectory,
  createFile,
  notAFileReason,
  openFile,
  readSmallFile,
  rewriteFile,
} from './small-files.ts';

interface PodFilesOptions {
  /** The mounts of this machine; read from the kernel when absent. */
  readonly mounts?: () => Promise<readonly Pick<MountEntry, 'mountPoint'>[]>;
}

interface CachedText {
  readonly stamp: string;
  readonly text: string;
}

/** A file that changed within this time may change again without a new timestamp, so it is not cached. */
const stableMs = 1_000;
/** For the node's hosts file and resolver configuration. Hosts files with block lists have some megabytes. */
const nodeFileBytes = 16 * 1024 * 1024;
/** For the kubelet's own files about a pod, which have a few lines. */
const podFileBytes = 64 * 1024;
/** The kubelet creates fewer entries per directory. Bounds the memory that a pod can make the kubelet use. */
const maxNames = 100_000;
const directoryPath = 0o10000000 | constants.O_DIRECTORY;

export class PodFiles {
  /** The node's few files that are read for pods, by path. */
  readonly #cache = new Map<string, CachedText>();
  readonly #mounts: NonNullable<PodFilesOptions['mounts']>;

  constructor(options: PodFilesOptions = {}) {
    this.#mounts = options.mounts ?? readMountTable;
  }

  async makeDirectory(path: string, mode: number): Promise<boolean> {
    try {
      return await createWithParents(path, mode);
    } catch (err) {
      throw new KubeletError('internal', 'FailedMkdir', `cannot create directory ${path}`, { cause: err });
    }
  }

  async readText(path: string): Promise<string> {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
      const stamp = [dev, ino, size, mtimeNs, ctimeNs].join(':');
      const cached = this.#cache.get(path);
      if (cached?.stamp === stamp) return cached.text;
      const text = await readSmallFile(path, { limitBytes: nodeFileBytes, followLinks: true });
      if (Date.now() - Number(ctimeNs / 1_000_000n) > stableMs) this.#cache.set(path, { stamp, text });
      return text;
    } catch (err) {
      throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause: err });
    }
  }

  async readTextIfAny(path: string): Promise<string | undefined> {
    try {
      return await readSmallFile(path, { limitBytes: podFileBytes });
    } catch (err) {
      if (isMissing(err)) return undefined;
      throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause: err });
    }
  }

  async writeText(path: string, text: string, mode: number): Promise<void> {
    try {
      await createOrRewrite(path, text, mode);
    } catch (err) {
      throw new KubeletError('internal', 'FailedWrite', `cannot write ${path}`, { cause: err });
    }
  }

  async link(target: string, path: string): Promise<void> {
    try {
      await symlink(target, path).catch(async (err: unknown) => {
        if (errorCode(err) !== 'EEXIST') throw err;
        await unlink(path);
        await symlink(target, path);
      });
    } catch (err) {
      throw new KubeletError('internal', 'FailedLink', `cannot create link ${path}`, { cause: err });
    }
  }

  async removeFile(path: string, below?: string): Promise<void> {
    try {
      if (below === undefined) await unlink(path);
      else await unlinkBelow(path, below);
    } catch (err) {
      if (isAbsent(err)) return;
      throw new KubeletError('internal', 'FailedRemove', `cannot remove ${path}`, { cause: err });
    }
  }

  async exists(path: string): Promise<boolean> {
    try {
      await lstat(path);
      return true;
    } catch (err) {
      if (isAbsent(err)) return false;
      throw new KubeletError('internal', 'FailedStat', `cannot stat ${path}`, { cause: err });
    }
  }

  async isDanglingLink(path: string): Promise<boolean> {
    try {
      if (!(await lstat(path)).isSymbolicLink()) return false;
    } catch (err) {
      if (isAbsent(err)) return false;
      throw new KubeletError('internal', 'FailedStat', `cannot stat ${path}`, { cause: err });
    }
    try {
      await stat(path);
      return false;
    } catch (err) {
      if (isAbsent(err)) return true;
      throw new KubeletError('internal', 'FailedStat', `cannot stat ${path}`, { cause: err });
    }
  }

  async listNames(path: string, limit?: number): Promise<readonly string[]> {
    try {
      const names: string[] = [];
      for await (const { name } of await opendir(path, { bufferSize: 256 })) {
        if (names.length === limit) break;
        if (names.length === maxNames)
          throw new KubeletError('invalid', 'TooLarge', `more than ${maxNames} entries`);
        names.push(name);
      }
      return names;
    } catch (err) {
      if (isAbsent(err)) return [];
      throw new KubeletError('internal', 'FailedReaddir', `cannot read directory ${path}`, { cause: err });
    }
  }

  async removeTree(path: string): Promise<void> {
    try {
      // The parents belong to the administrator and may be links.
      const parent = await openFile(dirname(path), directoryPath);
      try {
        // The kernel's mount table has real paths: a link in the path must not hide a mount.
        const real = entryPath(realPathOf(parent), basename(path));
        const below = (await this.#mounts()).find(({ mountPoint }) =>
          `${mountPoint}/`.startsWith(`${real}/`),
        );
        if (below !== undefined) {
          throw new KubeletError('conflict', 'MountBusy', `${below.mountPoint} is a mount point`);
        }
        await removeDirectory(parent, basename(path));
      } finally {
        closeSync(parent);
      }
    } catch (cause) {
      if (isAbsent(cause)) return;
      throw new KubeletError('conflict', 'FailedRemove', `cannot remove ${path}`, { cause });
    }
  }
}

/** Optimized for the usual case: the directory exists and the file does not. */
async function createOrRewrite(path: string, text: string, mode: number): Promise<void> {
  try {
    await createFile(path, { data: text, mode });
  } catch (err) {
    if (isMissing(err)) {
      await createWithParents(dirname(path), 0o750);
      await createFile(path, { data: text, mode });
      return;
    }
    if (errorCode(err) !== 'EEXIST') throw err;
    // A kubelet may have been killed between creating the file and setting its mode, so the mode is set too.
    await rewriteFile(path, text, mode).catch(async (cause: unknown) => {
      if (!(cause instanceof KubeletError) || cause.reason !== notAFileReason) throw cause;
      // Not created by the kubelet. It is unlinked; the target of a link stays untouched.
      await unlink(path);
      await createFile(path, { data: text, mode });
    });
  }
}

/** Returns whether it was created now. Parents are inspected only if they are missing. */
async function createWithParents(path: string, mode: number): Promise<boolean> {
  try {
    await createDirectory(path, mode);
    return true;
  } catch (err) {
    const code = errorCode(err);
    if (code === 'EEXIST') return await acceptExisting(path, err);
    if (code !== 'ENOENT') throw err;
    await createParents(dirname(path), mode);
    return await createWithParents(path, mode);
  }
}

/** Parents belong to the administrator and may be links to directories. */
async function createParents(path: string, mode: number): Promise<void> {
  try {
    await createDirectory(path, mode);
  } catch (err) {
    const code = errorCode(err);
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (code !== 'ENOENT') throw err;
    await createParents(dirname(path), mode);
    await createParents(path, mode);
  }
}

/**
 * differs from upstream: a link to a directory is rejected. Upstream accepts it, so a pod with a hostPath on the log directory
 * can choose where the runtime writes logs.
 */
async function acceptExisting(path: string, err: unknown): Promise<false> {
  if (!(await lstat(path)).isDirectory()) throw err;
  return false;
}

/** Unlinks through the open directory if its real path is the expected one. Only `below` itself may be a link. */
async function unlinkBelow(path: string, below: string): Promise<void> {
  const directory = dirname(path);
  const fd = await openFile(directory, directoryPath);
  try {
    const real = realPathOf(fd);
    if (real !== directory && real !== `${await realpath(below)}${directory.slice(below.length)}`)
      throw new KubeletError('forbidden', 'LinkLeadsOut', `${directory} leads out of ${below}`);
    await unlink(entryOf(fd, basename(path)));
  } finally {
    closeSync(fd);
  }
}

function entryPath(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

/** No entry has a name that the file system refuses: the log directory of a pod with a name of 253 characters never exists. */
function isAbsent(err: unknown): boolean {
  return isMissing(err) || errorCode(err) === 'ENAMETOOLONG';
}

export function isMissing(err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'ENOENT';
}
