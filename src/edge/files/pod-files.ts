// The directories of pods on this node's disk. Invariants: nothing is deleted through a mount; links are removed, not followed,
// also when one is swapped in meanwhile: removal reaches every entry through the open descriptor of its directory; no file that
// a pod can reach is read beyond what is expected of it.
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

interface KeptText {
  readonly stamp: string;
  readonly text: string;
}

/** A file that changed more recently may change once more without its times telling. */
const settledMs = 1_000;
/** The node's own hosts file and resolver configuration: lists of blocked hosts take some megabytes. */
const nodeFileBytes = 16 * 1024 * 1024;
/** What the kubelet keeps for a pod is a few lines. */
const podFileBytes = 64 * 1024;
/** A directory with more names is not the kubelet's doing: no pod makes the kubelet keep a million of them. */
const mostNames = 100_000;
const directoryPath = 0o10000000 | constants.O_DIRECTORY;

export class PodFiles {
  /** Of the few files of the node's that pods are made from, by path. */
  readonly #kept = new Map<string, KeptText>();
  readonly #mounts: NonNullable<PodFilesOptions['mounts']>;

  constructor(options: PodFilesOptions = {}) {
    this.#mounts = options.mounts ?? readMountTable;
  }

  async makeDirectory(path: string, mode: number): Promise<boolean> {
    try {
      return await makeWithParents(path, mode);
    } catch (err) {
      throw new KubeletError('internal', 'FailedMkdir', `cannot make directory ${path}`, { cause: err });
    }
  }

  async readText(path: string): Promise<string> {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
      const stamp = [dev, ino, size, mtimeNs, ctimeNs].join(':');
      const kept = this.#kept.get(path);
      if (kept?.stamp === stamp) return kept.text;
      const text = await readSmallFile(path, { limitBytes: nodeFileBytes, followLinks: true });
      if (Date.now() - Number(ctimeNs / 1_000_000n) > settledMs) this.#kept.set(path, { stamp, text });
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
      await keepText(path, text, mode);
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
      throw new KubeletError('internal', 'FailedLink', `cannot make the link ${path}`, { cause: err });
    }
  }

  async removeFile(path: string, below?: string): Promise<void> {
    try {
      if (below === undefined) await unlink(path);
      else await unlinkBelow(path, below);
    } catch (err) {
      if (isMissing(err)) return;
      throw new KubeletError('internal', 'FailedRemove', `cannot remove ${path}`, { cause: err });
    }
  }

  async exists(path: string): Promise<boolean> {
    try {
      await lstat(path);
      return true;
    } catch (err) {
      if (isMissing(err)) return false;
      throw new KubeletError('internal', 'FailedStat', `cannot look at ${path}`, { cause: err });
    }
  }

  async listNames(path: string, most?: number): Promise<readonly string[]> {
    try {
      const names: string[] = [];
      for await (const { name } of await opendir(path, { bufferSize: 256 })) {
        if (names.length === most) break;
        if (names.length === mostNames)
          throw new KubeletError('invalid', 'TooLarge', `more than ${mostNames} entries`);
        names.push(name);
      }
      return names;
    } catch (err) {
      if (isMissing(err)) return [];
      throw new KubeletError('internal', 'FailedReaddir', `cannot read directory ${path}`, { cause: err });
    }
  }

  async removeTree(path: string): Promise<void> {
    try {
      // What lies above is the administrator's, and may be a link.
      const parent = await openFile(dirname(path), directoryPath);
      try {
        // The kernel's table has real paths: a link on the way must not hide a mount.
        const real = entryPath(realPathOf(parent), basename(path));
        const below = (await this.#mounts()).find(({ mountPoint }) =>
          `${mountPoint}/`.startsWith(`${real}/`),
        );
        if (below !== undefined) {
          throw new KubeletError('conflict', 'MountBusy', `${below.mountPoint} is mounted in it`);
        }
        await removeDirectory(parent, basename(path));
      } finally {
        closeSync(parent);
      }
    } catch (cause) {
      if (isMissing(cause)) return;
      throw new KubeletError('conflict', 'FailedRemove', `cannot remove ${path}`, { cause });
    }
  }
}

/** Nearly always it is the first time, and the directory is there. */
async function keepText(path: string, text: string, mode: number): Promise<void> {
  try {
    await createFile(path, { data: text, mode });
  } catch (err) {
    if (isMissing(err)) {
      await makeWithParents(dirname(path), 0o750);
      await createFile(path, { data: text, mode });
      return;
    }
    if (errorCode(err) !== 'EEXIST') throw err;
    // Whoever made it may have been cut off before its mode was right, so that is set as well.
    await rewriteFile(path, text, mode).catch(async (cause: unknown) => {
      if (!(cause instanceof KubeletError) || cause.reason !== notAFileReason) throw cause;
      // Something that the kubelet never puts there: it goes, and nothing that it leads to is touched.
      await unlink(path);
      await createFile(path, { data: text, mode });
    });
  }
}

/** Whether it was made just now. What lies above is looked at only when it is missing. */
async function makeWithParents(path: string, mode: number): Promise<boolean> {
  try {
    await createDirectory(path, mode);
    return true;
  } catch (err) {
    const code = errorCode(err);
    if (code === 'EEXIST') return await alreadyThere(path, err);
    if (code !== 'ENOENT') throw err;
    await makeParents(dirname(path), mode);
    return await makeWithParents(path, mode);
  }
}

/** Those above are the administrator's, and may be links to directories. */
async function makeParents(path: string, mode: number): Promise<void> {
  try {
    await createDirectory(path, mode);
  } catch (err) {
    const code = errorCode(err);
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (code !== 'ENOENT') throw err;
    await makeParents(dirname(path), mode);
    await makeParents(path, mode);
  }
}

/**
 * differs from upstream: there a link to a directory will do, so that a pod with a host path on the log directory decides where the
 * runtime writes logs.
 */
async function alreadyThere(path: string, err: unknown): Promise<false> {
  if (!(await lstat(path)).isDirectory()) throw err;
  return false;
}

/** Unlinks through the open directory, when that really lies where its path says: only `below` itself may be a link. */
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

export function isMissing(err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'ENOENT';
}
