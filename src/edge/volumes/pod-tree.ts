// Removes files and directories of pods. Invariants: a path that is not inside a pod's directory is rejected before anything is
// accessed; links are removed, never followed, even if they are swapped in concurrently: every entry is reached through the
// open descriptor of its directory, whose real path the kernel reports; nothing is removed through a mount: a directory on
// another mount or file system ends the walk, and a tree that may hold more than the kubelet's own files is first checked
// against the mount table.
import { closeSync, constants, lstat, open, realpath, rmdir, type Stats, unlink } from 'node:fs';
import { basename, dirname, normalize } from 'node:path';
import { promisify } from 'node:util';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { entryOf, realPathOf } from './descriptors.ts';
import { ignoreMissing, removeDirectory } from './remove-directory.ts';

const { O_DIRECTORY } = constants;
const openPath = 0o10000000;
const openFile = promisify(open);
const lstatEntry = promisify(lstat);
const removeLeaf = promisify(rmdir);
const removeFile = promisify(unlink);
const resolve = promisify(realpath.native);

interface PodTreeOptions {
  /** `<root>/pods`. */
  readonly podsDir: string;
  /** The mount points at and below a real path. */
  readonly mountsBelow: (path: string) => Promise<readonly { readonly path: string }[]>;
}

/** An open directory, and its real path without links. */
interface OpenDirectory {
  readonly fd: number;
  readonly real: string;
}

/** Throws unless the path is inside the directory of a pod, `<podsDir>/<uid>/…`. */
export function checkBelowPods(podsDir: string, path: string): void {
  const parts = path.startsWith(`${podsDir}/`) ? path.slice(podsDir.length + 1).split('/') : [];
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (podsDir !== '' && podsDir !== '/' && normalize(podsDir) === podsDir && parts.length >= 2 && isPlain)
    return;
  throw new KubeletError('invalid', 'OutsidePods', `refusing to remove ${path}: not below ${podsDir}`);
}

export class PodTree {
  readonly #podsDir: string;
  readonly #mountsBelow: PodTreeOptions['mountsBelow'];
  /** Real path of the pods' directory, as last resolved. */
  #base: string | undefined;

  constructor(options: PodTreeOptions) {
    this.#podsDir = options.podsDir;
    this.#mountsBelow = options.mountsBelow;
  }

  async removeTree(path: string): Promise<void> {
    checkBelowPods(this.#podsDir, path);
    await this.#removeTree(path);
  }

  /** Removes a directory that contains only files that the kubelet wrote. `conflict` if it is a mount point. */
  async removeOwnTree(path: string): Promise<void> {
    checkBelowPods(this.#podsDir, path);
    await this.#in(dirname(path), path, async ({ fd }) => {
      await removeDirectory(fd, basename(path));
    });
  }

  /** Removes an empty directory or an empty file. */
  async removeEmpty(path: string): Promise<void> {
    checkBelowPods(this.#podsDir, path);
    await this.#in(dirname(path), path, async ({ fd }) => {
      const entry = entryOf(fd, basename(path));
      if ((await rmdirOrCode(entry)) !== 'ENOTDIR') return;
      const stat = await lstatOrMissing(entry);
      if (stat === undefined) return;
      if (stat.isFile() && stat.size > 0)
        throw new KubeletError('conflict', 'NotEmpty', `refusing to remove ${path}: it is not empty`);
      await ignoreMissing(removeFile(entry));
    });
  }

  /** Removes the named files or empty directories of a directory in parallel, then the directory itself. */
  async removeWith(path: string, names: readonly string[], kind: 'directory' | 'file'): Promise<void> {
    checkBelowPods(this.#podsDir, path);
    await this.#in(path, path, async ({ fd, real }) => {
      const remove = kind === 'file' ? removeFile : removeLeaf;
      await settleAll(names.map((name) => ignoreMissing(remove(entryOf(fd, name)))));
      await ignoreMissing(removeLeaf(real));
    });
  }

  async #removeTree(path: string): Promise<void> {
    await this.#in(dirname(path), path, async ({ fd, real }) => {
      const name = basename(path);
      // rmdir removes an empty directory at once; its error reveals another kind of entry, or a mount point.
      const code = await rmdirOrCode(entryOf(fd, name), ['ENOTEMPTY', 'EEXIST', 'EBUSY']);
      if (code === undefined) return;
      if (code === 'ENOTDIR') {
        await ignoreMissing(removeFile(entryOf(fd, name)));
        return;
      }
      const isMountPoint = code === 'EBUSY';
      const [mount] = isMountPoint ? [{ path }] : await this.#mountsBelow(`${real}/${name}`);
      if (mount !== undefined)
        throw new KubeletError('conflict', 'MountBusy', `cannot remove ${path}: ${mount.path} is mounted`);
      await removeDirectory(fd, name);
    });
  }

  /** Opens the directory for `remove`. Does nothing if the directory does not exist. */
  async #in(
    directory: string,
    path: string,
    remove: (directory: OpenDirectory) => Promise<void>,
  ): Promise<void> {
    try {
      const opened = await this.#open(directory, path);
      if (opened === undefined) return;
      try {
        await remove(opened);
      } finally {
        closeSync(opened.fd);
      }
    } catch (err) {
      if (err instanceof KubeletError) throw err;
      throw hostError(err, `cannot remove ${path}`, { path });
    }
  }

  /**
   * Parents of the pods' directory may be links, since the kubelet's root may be one. Below it a link could redirect the
   * removal, so the real path of the opened directory has to match.
   */
  async #open(directory: string, path: string): Promise<OpenDirectory | undefined> {
    const fd = await openFile(directory, openPath | O_DIRECTORY).catch((err: unknown) => {
      if (errorCode(err) === 'ENOENT') return undefined;
      if (['ENOTDIR', 'ELOOP'].includes(errorCode(err) ?? '')) throw notADirectory(path);
      throw err;
    });
    if (fd === undefined) return undefined;
    try {
      const real = realPathOf(fd);
      const below = directory.slice(this.#podsDir.length);
      if (real !== `${this.#base}${below}`) {
        this.#base = await resolve(this.#podsDir);
        if (real === `${this.#base}${below} (deleted)`) {
          closeSync(fd);
          return undefined;
        }
        if (real !== `${this.#base}${below}`) throw notADirectory(path);
      }
      return { fd, real };
    } catch (err) {
      closeSync(fd);
      throw err;
    }
  }
}

function notADirectory(path: string): KubeletError {
  const reason = 'a parent is a link or not a directory';
  return new KubeletError('invalid', 'NotADirectory', `refusing to remove ${path}: ${reason}`);
}

/** Undefined if the directory is removed or missing; the error code if it is ENOTDIR or one of `codes`. */
async function rmdirOrCode(path: string, codes: readonly string[] = []): Promise<string | undefined> {
  try {
    await removeLeaf(path);
    return undefined;
  } catch (err) {
    const code = errorCode(err);
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR' || (code !== undefined && codes.includes(code))) return code;
    throw err;
  }
}

async function lstatOrMissing(path: string): Promise<Stats | undefined> {
  try {
    return await lstatEntry(path);
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err;
  }
}
