// Removal below the pods' directory, and nowhere else. Invariants: a path that is not strictly below it is refused before
// anything is touched; links are removed, never followed, also when they are swapped in meanwhile: every entry is reached
// through the open descriptor of its directory, and where that really is the kernel tells; nothing is removed through a mount:
// a directory that was reached by another mount or lies on another file system stops the walk, and where there may be more
// than the kubelet's own files the kernel's table is asked first.
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
const look = promisify(lstat);
const removeLeaf = promisify(rmdir);
const removeFile = promisify(unlink);
const resolve = promisify(realpath.native);

interface PodTreeOptions {
  /** `<root>/pods`. */
  readonly podsDir: string;
  /** The mount points at and below a real path. */
  readonly mountsBelow: (path: string) => Promise<readonly { readonly path: string }[]>;
}

/** An open directory, and its path without any link. */
interface Place {
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
  /** Where the pods' directory was when it was looked for last. */
  #base: string | undefined;

  constructor(options: PodTreeOptions) {
    this.#podsDir = options.podsDir;
    this.#mountsBelow = options.mountsBelow;
  }

  async removeTree(path: string): Promise<void> {
    checkBelowPods(this.#podsDir, path);
    await this.#removeTree(path);
  }

  /** Removes a directory that holds nothing but what the kubelet wrote. `conflict` when it is a mount point. */
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
      if ((await rmdirOrTold(entry)) !== 'ENOTDIR') return;
      const stat = await lstatOrNothing(entry);
      if (stat === undefined) return;
      if (stat.isFile() && stat.size > 0)
        throw new KubeletError('conflict', 'NotEmpty', `refusing to remove ${path}: it has content`);
      await ignoreMissing(removeFile(entry));
    });
  }

  /** Removes empty directories or a file of a directory, beside each other, then the directory itself. */
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
      // An empty one goes at once; the kernel says when it is none, or something is mounted on it.
      const told = await rmdirOrTold(entryOf(fd, name), ['ENOTEMPTY', 'EEXIST', 'EBUSY']);
      if (told === undefined) return;
      if (told === 'ENOTDIR') {
        await ignoreMissing(removeFile(entryOf(fd, name)));
        return;
      }
      const isMountPoint = told === 'EBUSY';
      const [mount] = isMountPoint ? [{ path }] : await this.#mountsBelow(`${real}/${name}`);
      if (mount !== undefined)
        throw new KubeletError('conflict', 'MountBusy', `cannot remove ${path}: ${mount.path} is mounted`);
      await removeDirectory(fd, name);
    });
  }

  /** Works on an open directory; does nothing when there is none. */
  async #in(directory: string, path: string, work: (place: Place) => Promise<void>): Promise<void> {
    try {
      const place = await this.#open(directory, path);
      if (place === undefined) return;
      try {
        await work(place);
      } finally {
        closeSync(place.fd);
      }
    } catch (err) {
      if (err instanceof KubeletError) throw err;
      throw hostError(err, `cannot remove ${path}`, { path });
    }
  }

  /**
   * What lies above the pods' directory may be a link, for the root may be one. Below it none may be: a link there could
   * lead the removal elsewhere. Told from where the directory that was opened really is.
   */
  async #open(directory: string, path: string): Promise<Place | undefined> {
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
  const why = 'something on the way to it is a link or not a directory';
  return new KubeletError('invalid', 'NotADirectory', `refusing to remove ${path}: ${why}`);
}

/** Undefined when the directory is gone; what the kernel refused it with when that is one of these. */
async function rmdirOrTold(path: string, codes: readonly string[] = []): Promise<string | undefined> {
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

async function lstatOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await look(path);
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err;
  }
}
