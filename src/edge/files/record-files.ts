// Small files that are written whole or not at all, in directories of their own. Upstream: writeFile in
// pkg/kubelet/images/pullmanager/fs_pullrecords.go. Invariants: a reader sees the old text or the new one, also after the
// kubelet was killed, and what was written or settled also after the machine lost its power; what is written is readable by
// the kubelet only.
import { closeSync, constants, fdatasync, writeFile } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { KubeletError } from '../../base/errors.ts';
import { isMissing } from './pod-files.ts';
import { openFile, readSmallFile } from './small-files.ts';

const writeText = promisify(writeFile);
const syncData = promisify(fdatasync);

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
const temporarySuffix = '.tmp';
/** Larger than the allocations of any node; what is larger is not ours. */
const limitBytes = 64 * 1024 * 1024;

export const recordFiles = {
  /** Names in the directory; none when it is not there. */
  async list(directory: string): Promise<readonly string[]> {
    return (await orMissing(() => readdir(directory), `cannot read directory ${directory}`)) ?? [];
  },

  /** Undefined when it is not there. */
  async read(path: string): Promise<string | undefined> {
    return await orMissing(() => readSmallFile(path, { limitBytes }), `cannot read ${path}`);
  },

  async write(path: string, text: string): Promise<void> {
    await replace(path, text, true);
  },

  /** As `write`, without waiting for the disk: until it is settled, a loss of power may leave it empty. */
  async replace(path: string, text: string): Promise<void> {
    await replace(path, text, false);
  },

  /** Waits until the disk has it. Nothing there is fine. */
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

  /** Nothing there is fine. */
  async remove(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (cause) {
      throw new KubeletError('internal', 'FailedRemove', `cannot remove ${path}`, { cause });
    }
  },
};

async function replace(path: string, text: string, durable: boolean): Promise<void> {
  const temporary = `${path}${temporarySuffix}`;
  try {
    await writeWhole(temporary, text, durable).catch(async (err: unknown) => {
      if (!isMissing(err)) throw err;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeWhole(temporary, text, durable);
    });
    await rename(temporary, path);
  } catch (cause) {
    // What is left of it would only take room where there is none.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new KubeletError('internal', 'FailedWrite', `cannot write ${path}`, { cause });
  }
}

async function writeWhole(path: string, text: string, durable: boolean): Promise<void> {
  // Never through a link: what was left here by a kubelet that was killed is a plain file.
  const fd = await openFile(path, O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_TRUNC | O_WRONLY, 0o600);
  try {
    await writeText(fd, text);
    if (durable) await syncData(fd);
  } finally {
    // It is on the disk already or need not be yet: closing waits for nothing.
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
