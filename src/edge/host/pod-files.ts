// The directories of pods on this node's disk. Invariants: nothing is deleted through a mount; links are removed, not followed.
import { chmod, lstat, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { type MountEntry, readMountTable } from './mount-table.ts';

export interface PodFilesOptions {
  /** The mounts of this machine; read from the kernel when absent. */
  readonly mounts?: () => Promise<readonly Pick<MountEntry, 'mountPoint'>[]>;
}

export class PodFiles {
  readonly #mounts: NonNullable<PodFilesOptions['mounts']>;

  constructor(options: PodFilesOptions = {}) {
    this.#mounts = options.mounts ?? readMountTable;
  }

  async makeDirectory(path: string, mode: number): Promise<void> {
    try {
      await mkdir(path, { recursive: true, mode });
    } catch (err) {
      throw new KubeletError('internal', 'FailedMkdir', `cannot make directory ${path}`, { cause: err });
    }
  }

  async readText(path: string): Promise<string> {
    try {
      return await readFile(path, 'utf8');
    } catch (err) {
      throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause: err });
    }
  }

  async readTextIfAny(path: string): Promise<string | undefined> {
    try {
      return await readFile(path, 'utf8');
    } catch (err) {
      if (isMissing(err)) return undefined;
      throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause: err });
    }
  }

  async writeText(path: string, text: string, mode: number): Promise<void> {
    try {
      await writeFile(path, text, { mode });
      await chmod(path, mode);
    } catch (err) {
      throw new KubeletError('internal', 'FailedWrite', `cannot write ${path}`, { cause: err });
    }
  }

  async link(target: string, path: string): Promise<void> {
    try {
      await rm(path, { force: true });
      await symlink(target, path);
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
