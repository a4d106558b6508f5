// Small files that are written whole or not at all, in directories of their own. Upstream: writeFile in
// pkg/kubelet/images/pullmanager/fs_pullrecords.go. Invariants: a reader sees the old text or the new one, also after a
// crash; what is written is readable by the kubelet only.
import { closeSync, fdatasync, writeFile } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { KubeletError } from '../../base/errors.ts';
import { isMissing } from './pod-files.ts';
import { openFile } from './small-files.ts';

const writeWhole = promisify(writeFile);
const syncData = promisify(fdatasync);

const temporarySuffix = '.tmp';

export const recordFiles = {
  /** Names in the directory; none when it is not there. */
  async list(directory: string): Promise<readonly string[]> {
    return (await orMissing(() => readdir(directory), `cannot read directory ${directory}`)) ?? [];
  },

  /** Undefined when it is not there. */
  async read(path: string): Promise<string | undefined> {
    return await orMissing(() => readFile(path, 'utf8'), `cannot read ${path}`);
  },

  async write(path: string, text: string): Promise<void> {
    const temporary = `${path}${temporarySuffix}`;
    try {
      await writeThrough(temporary, text).catch(async (err: unknown) => {
        if (!isMissing(err)) throw err;
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await writeThrough(temporary, text);
      });
      await rename(temporary, path);
    } catch (cause) {
      // What is left of it would only take room where there is none.
      await rm(temporary, { force: true }).catch(() => undefined);
      throw new KubeletError('internal', 'FailedWrite', `cannot write ${path}`, { cause });
    }
  },

  /** Nothing there is fine. */
  async remove(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (cause) {
      throw new KubeletError('internal', 'FailedRemove', `cannot remove ${path}`, { cause });
    }
  },
};

async function writeThrough(path: string, text: string): Promise<void> {
  const fd = await openFile(path, 'w', 0o600);
  try {
    await writeWhole(fd, text);
    await syncData(fd);
  } finally {
    // All of it is on the disk already: closing waits for nothing.
    closeSync(fd);
  }
}

async function orMissing<T>(work: () => Promise<T>, message: string): Promise<T | undefined> {
  try {
    return await work();
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new KubeletError('internal', 'FailedRead', message, { cause });
  }
}
