// Removal below the pods' directory, and nowhere else. Invariants: a path that is not strictly below it is refused before
// anything is touched; links are removed, never followed, also when they are swapped in meanwhile: every entry is reached
// through the open descriptor of its directory; nothing is removed through a mount: the kernel's table is asked first, and
// the walk stops at a directory of another file system.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rmdir, unlink } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { errorCode, hostError } from '../host/syscalls-errors.ts';
import { directorySlices } from './directory-slices.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** Whoever still adds files after so many rounds keeps the directory. */
const mostTurns = 16;

export interface PodTreeOptions {
  /** `<root>/pods`. */
  readonly podsDir: string;
  /** The mount points at and below a real path. */
  readonly mountsBelow: (path: string) => Promise<readonly { readonly path: string }[]>;
}

/** Throws unless the path is below `podsDir`, at least so deep: 2 is in a pod's own directory, `<podsDir>/<uid>/…`. */
export function checkBelowPods(podsDir: string, path: string, depth = 2): void {
  const parts = path.startsWith(`${podsDir}/`) ? path.slice(podsDir.length + 1).split('/') : [];
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (podsDir !== '' && podsDir !== '/' && normalize(podsDir) === podsDir && parts.length >= depth && isPlain)
    return;
  throw new KubeletError('invalid', 'OutsidePods', `refusing to remove ${path}: not below ${podsDir}`);
}

export class PodTree {
  readonly #podsDir: string;
  readonly #mountsBelow: PodTreeOptions['mountsBelow'];

  constructor(options: PodTreeOptions) {
    this.#podsDir = options.podsDir;
    this.#mountsBelow = options.mountsBelow;
  }

  async removeTree(path: string): Promise<void> {
    checkBelowPods(this.#podsDir, path);
    await this.#removeChecked(path);
  }

  async removePodDirectory(uid: string): Promise<void> {
    const path = `${this.#podsDir}/${uid}`;
    checkBelowPods(this.#podsDir, path, 1);
    if (uid.includes('/')) throw new KubeletError('invalid', 'OutsidePods', `${uid} is not the UID of a pod`);
    await this.#removeChecked(path);
  }

  async #removeChecked(path: string): Promise<void> {
    const real = await this.#realPath(path);
    if (real === undefined) return;
    const [mount] = await this.#mountsBelow(real);
    if (mount !== undefined)
      throw new KubeletError('conflict', 'MountBusy', `cannot remove ${path}: ${mount.path} is mounted`);
    try {
      await this.#remove(real);
    } catch (err) {
      if (err instanceof KubeletError) throw err;
      throw hostError(err, `cannot remove ${path}`, { path });
    }
  }

  async removeEmpty(path: string): Promise<void> {
    checkBelowPods(this.#podsDir, path);
    const real = await this.#realPath(path);
    if (real === undefined) return;
    const stat = await lstatOrNothing(real);
    if (stat === undefined) return;
    if (stat.isFile() && stat.size > 0)
      throw new KubeletError('conflict', 'NotEmpty', `refusing to remove ${path}: it has content`);
    try {
      await (stat.isDirectory() ? rmdir(real) : unlink(real));
    } catch (err) {
      if (errorCode(err) !== 'ENOENT') throw hostError(err, `cannot remove ${path}`, { path });
    }
  }

  /**
   * The path with what lies above the pods' directory resolved, for the root may be a link. Below it no element may be
   * one: a link there could lead the removal elsewhere. Undefined when there is nothing.
   */
  async #realPath(path: string): Promise<string | undefined> {
    const base = await realpath(this.#podsDir).catch((err: unknown) => {
      if (errorCode(err) === 'ENOENT') return undefined;
      throw hostError(err, `cannot resolve ${this.#podsDir}`);
    });
    if (base === undefined) return undefined;
    const parts = path.slice(this.#podsDir.length + 1).split('/');
    let real = base;
    for (const part of parts.slice(0, -1)) {
      real = join(real, part);
      const stat = await lstatOrNothing(real);
      if (stat === undefined) return undefined;
      if (!stat.isDirectory())
        throw new KubeletError(
          'invalid',
          'NotADirectory',
          `refusing to remove ${path}: ${real} is not a directory`,
        );
    }
    return join(real, parts.at(-1) ?? '');
  }

  async #remove(path: string): Promise<void> {
    const stat = await lstatOrNothing(path);
    if (stat === undefined) return;
    if (!stat.isDirectory()) {
      await unlink(path);
      return;
    }
    const directory = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const { dev } = await directory.stat();
      await emptyDirectory(directory, dev);
    } finally {
      await directory.close();
    }
    await rmdir(path);
  }
}

/** Removes what is in an open directory, reaching each entry through the descriptor. */
async function emptyDirectory(directory: FileHandle, dev: number): Promise<void> {
  const self = `/proc/self/fd/${directory.fd}`;
  // A listing may miss entries when others are removed beside it: it is begun anew until there are none.
  for (let turn = 0; turn < mostTurns; turn++) {
    const found = await emptyOnce(self, dev);
    if (found === 0) return;
  }
}

/** How many entries there were. */
async function emptyOnce(self: string, dev: number): Promise<number> {
  const subdirectories: string[] = [];
  let found = 0;
  for await (const slice of directorySlices(self)) {
    found += slice.length;
    await Promise.all(
      slice.map(async (entry) => {
        if (entry.isDirectory()) subdirectories.push(entry.name);
        else await ignoreMissing(unlink(join(self, entry.name)));
      }),
    );
  }
  // One after the other: the depth of the tree, not its width, bounds the open descriptors.
  for (const name of subdirectories) await removeSubdirectory(join(self, name), dev);
  return found;
}

async function removeSubdirectory(path: string, dev: number): Promise<void> {
  const child = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((err: unknown) => {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err;
  });
  if (child === undefined) return;
  try {
    const stat = await child.stat();
    if (stat.dev !== dev)
      throw new KubeletError(
        'conflict',
        'MountBusy',
        `refusing to remove ${path}: another file system is mounted there`,
      );
    await emptyDirectory(child, dev);
  } finally {
    await child.close();
  }
  await ignoreMissing(rmdir(path));
}

async function ignoreMissing(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (err) {
    if (errorCode(err) !== 'ENOENT') throw err;
  }
}

async function lstatOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err;
  }
}
