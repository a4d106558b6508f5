// Small files that are replaced atomically, in directories of the kubelet. Upstream: writeFile in
// pkg/kubelet/images/pullmanager/fs_pullrecords.go. Invariants: a reader sees the old text or the new one, also after a kill
// of the kubelet; a written or flushed file also survives a power loss; only the kubelet's user can read the files.
import { closeSync, constants, fdatasync, writeFile } from 'node:fs';
import { link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { KubeletError } from '../../base/errors.ts';
import { isMissing } from './pod-files.ts';
import { openFile, readSmallFile } from './small-files.ts';

const writeText = promisify(writeFile);
const syncData = promisify(fdatasync);

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
const temporarySuffix = '.tmp';
/** More than the allocations of any node need. A larger file was not written by the kubelet. */
const defaultLimitBytes = 64 * 1024 * 1024;

export const recordFiles = {
  /** Names in the directory; none if it does not exist. */
  async list(directory: string): Promise<readonly string[]> {
    return (await orMissing(() => readdir(directory), `cannot read directory ${directory}`)) ?? [];
  },

  /** Undefined if it does not exist. */
  async read(path: string, limitBytes: number = defaultLimitBytes): Promise<string | undefined> {
    return await orMissing(() => readSmallFile(path, { limitBytes }), `cannot read ${path}`);
  },

  async write(path: string, text: string): Promise<void> {
    await replace(path, text, true);
  },

  /** As `write`, without waiting for the disk: until it is flushed, a power loss may leave it empty. */
  async replace(path: string, text: string): Promise<void> {
    await replace(path, text, false);
  },

  /** Resolves when the file is on disk, or if it does not exist. */
  async flush(path: string): Promise<void> {
    const sync = async (): Promise<void> => {
      const fd = await openFile(path, 'r');
      try {
        await syncData(fd);
      } finally {
        closeSync(fd);
      }
    };
    await orMissing(sync, `cannot flush ${path}`);
  },

  /** Gives the file a second name, replacing what had it; nothing if the file does not exist. */
  async keep(path: string, as: string): Promise<void> {
    const temporary = `${as}${temporarySuffix}`;
    const keep = async (): Promise<void> => {
      await rm(temporary, { force: true });
      await link(path, temporary);
      await rename(temporary, as);
      // rename() leaves both names if they are links to the same file already.
      await rm(temporary, { force: true });
    };
    await orMissing(keep, `cannot keep ${path} as ${as}`);
  },

  /** Removes the file if it exists. */
  async remove(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (cause) {
      throw new KubeletError('internal', 'FailedRemove', `cannot remove ${path}`, { cause });
    }
  },
};

/** Where a file is written before it replaces the old one. */
export function temporaryOf(path: string): string {
  return `${path}${temporarySuffix}`;
}

async function replace(path: string, text: string, durable: boolean): Promise<void> {
  const temporary = temporaryOf(path);
  try {
    await writeFileText(temporary, text, durable).catch(async (err: unknown) => {
      if (!isMissing(err)) throw err;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFileText(temporary, text, durable);
    });
    await rename(temporary, path);
  } catch (cause) {
    // The disk may be full: do not leave a partial file.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new KubeletError('internal', 'FailedWrite', `cannot write ${path}`, { cause });
  }
}

async function writeFileText(path: string, text: string, durable: boolean): Promise<void> {
  // Never through a link: a leftover of a killed kubelet is a regular file.
  const fd = await openFile(path, O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_TRUNC | O_WRONLY, 0o600);
  try {
    await writeText(fd, text);
    if (durable) await syncData(fd);
  } finally {
    // Either synced already or not required to be: closing does not block.
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
