// The directories of pods on this node's disk. Invariants: nothing is deleted through a mount; links are removed, not followed.
import { mkdir, readdir, rm } from 'node:fs/promises';
import { KubeletError } from '../../base/errors.ts';
import { readMountTable } from './mount-table.ts';

export class PodFiles {
  async makeDirectory(path: string, mode: number): Promise<void> {
    try {
      await mkdir(path, { recursive: true, mode });
    } catch (err) {
      throw new KubeletError('internal', 'FailedMkdir', `cannot make directory ${path}`, { cause: err });
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
    const below = (await readMountTable()).find(({ mountPoint }) => `${mountPoint}/`.startsWith(`${path}/`));
    if (below !== undefined) {
      throw new KubeletError(
        'conflict',
        'MountBusy',
        `not removing ${path}: ${below.mountPoint} is mounted in it`,
      );
    }
    try {
      await rm(path, { recursive: true, force: true });
    } catch (err) {
      throw new KubeletError('internal', 'FailedRemove', `cannot remove ${path}`, { cause: err });
    }
  }
}

export function isMissing(err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'ENOENT';
}
