// The directories of pods on this node's disk. Invariants: nothing is deleted through a mount; links are removed, not followed.
import { chmod, lstat, mkdir, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { type MountEntry, readMountTable } from './mount-table.ts';
import { createFile, readSmallFile } from './small-files.ts';
import { errorCode } from './syscalls-errors.ts';

export interface PodFilesOptions {
  /** The mounts of this machine; read from the kernel when absent. */
  readonly mounts?: () => Promise<readonly Pick<MountEntry, 'mountPoint'>[]>;
}

interface KeptText {
  readonly stamp: string;
  readonly text: string;
}

/** A file that changed more recently may change once more without its times telling. */
const settledMs = 1_000;

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
      const text = await readSmallFile(path);
      if (Date.now() - Number(ctimeNs / 1_000_000n) > settledMs) this.#kept.set(path, { stamp, text });
      return text;
    } catch (err) {
      throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause: err });
    }
  }

  async readTextIfAny(path: string): Promise<string | undefined> {
    try {
      return await readSmallFile(path);
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
        await rm(path);
        await symlink(target, path);
      });
    } catch (err) {
      throw new KubeletError('internal', 'FailedLink', `cannot make the link ${path}`, { cause: err });
    }
  }

  async removeFile(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (err) {
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

  async listNames(path: string): Promise<readonly string[]> {
    try {
      return await readdir(path);
    } catch (err) {
      if (isMissing(err)) return [];
      throw new KubeletError('internal', 'FailedReaddir', `cannot read directory ${path}`, { cause: err });
    }
  }

  async removeTree(path: string): Promise<void> {
    try {
      const real = await withRealParent(path);
      if (real === undefined) return;
      const below = (await this.#mounts()).find(({ mountPoint }) => `${mountPoint}/`.startsWith(`${real}/`));
      if (below !== undefined) {
        throw new KubeletError('conflict', 'MountBusy', `${below.mountPoint} is mounted in it`);
      }
      await rm(real, { recursive: true, force: true });
    } catch (cause) {
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
    if ((await readSmallFile(path)) !== text) await writeFile(path, text);
    // Whoever made it may have been cut off before its mode was right.
    await chmod(path, mode);
  }
}

/** Whether it was made just now. What lies above is looked at only when it is missing. */
async function makeWithParents(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, mode);
    return true;
  } catch (err) {
    const code = errorCode(err);
    if (code === 'EEXIST') return await alreadyThere(path, err);
    if (code !== 'ENOENT') throw err;
    await makeWithParents(dirname(path), mode);
    return await makeWithParents(path, mode);
  }
}

async function alreadyThere(path: string, err: unknown): Promise<false> {
  if (!(await stat(path)).isDirectory()) throw err;
  return false;
}

/** The kernel's table has real paths: a link on the way must not hide a mount. Undefined when there is no such directory. */
async function withRealParent(path: string): Promise<string | undefined> {
  try {
    return join(await realpath(dirname(path)), basename(path));
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err;
  }
}

export function isMissing(err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'ENOENT';
}
