// Small files that the kubelet keeps beside volumes, such as vol_data.json, and the empty directories of plugins.
// Invariants: a path outside `<root>/pods` and `<root>/plugins` is rejected before anything is accessed; only regular files are
// read or removed, never through a link; a reader sees the old text or the new one.
import { lstat, rmdir, unlink } from 'node:fs/promises';
import { dirname, normalize } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { recordFiles, temporaryOf } from '../files/record-files.ts';
import { readSmallFile } from '../files/small-files.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { orMissing } from './or-missing.ts';

export class OwnFiles {
  readonly #root: string;

  /** `podsDir`: `<root>/pods`. */
  constructor(podsDir: string) {
    this.#root = dirname(podsDir);
  }

  async read(path: string, limitBytes: number): Promise<string | undefined> {
    this.#check(path, ['pods', 'plugins']);
    return await orMissing(readSmallFile(path, { limitBytes }));
  }

  async write(path: string, text: string): Promise<void> {
    this.#check(path, ['pods', 'plugins']);
    await recordFiles.replace(path, text);
  }

  async remove(path: string): Promise<void> {
    this.#check(path, ['pods', 'plugins']);
    // Of a kubelet that was killed while it wrote.
    await orMissing(unlink(temporaryOf(path)));
    const found = await orMissing(lstat(path));
    if (found === undefined) return;
    if (!found.isFile() && !found.isSymbolicLink())
      throw new KubeletError('conflict', 'NotAFile', `refusing to remove ${path}: it is not a file`);
    await orMissing(unlink(path));
  }

  /** An empty directory or an empty file of a plugin. */
  async removeEmpty(path: string): Promise<void> {
    this.#check(path, ['plugins']);
    try {
      await rmdir(path);
    } catch (err) {
      const code = errorCode(err);
      if (code === 'ENOENT') return;
      if (code === 'ENOTEMPTY' || code === 'EBUSY')
        throw new KubeletError('conflict', code, `cannot remove ${path}`, { cause: err });
      if (code !== 'ENOTDIR') throw err;
      const found = await orMissing(lstat(path));
      if (found?.isFile() === true && found.size > 0)
        throw new KubeletError('conflict', 'NotEmpty', `refusing to remove ${path}: it is not empty`);
      await orMissing(unlink(path));
    }
  }

  #check(path: string, folders: readonly string[]): void {
    const isBelow = folders.some((folder) => path.startsWith(`${this.#root}/${folder}/`));
    if (isBelow && normalize(path) === path && !path.endsWith('/')) return;
    const below = folders.map((folder) => `${this.#root}/${folder}`).join(' or ');
    throw new KubeletError('invalid', 'OutsidePlugins', `refusing to access ${path}: not below ${below}`);
  }
}
