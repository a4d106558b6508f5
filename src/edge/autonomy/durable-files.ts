// The file system of kept records. Invariant: what was written, moved or removed survives a power loss, its name included.
import { closeSync, constants, fsync } from 'node:fs';
import { lstat, readFile, rename } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { KubeletError } from '../../base/errors.ts';
import { isMissing } from '../files/pod-files.ts';
import { recordFiles } from '../files/record-files.ts';
import { createDirectory, openFile, setDirectoryMode } from '../files/small-files.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { removeDirectory } from '../volumes/remove-directory.ts';

const flush = promisify(fsync);
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const rootOnly = 0o700;

export interface DurableFiles {
  /** Creates the directory if it is missing, for root only. Its parent must exist. */
  makeDirectory(path: string): Promise<void>;
  list(directory: string): Promise<readonly string[]>;
  read(path: string, limitBytes: number): Promise<string | undefined>;
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Replaces what has the new name. */
  move(path: string, to: string): Promise<void>;
  /** With everything below it, following no link. False if there was nothing. */
  removeTree(path: string): Promise<boolean>;
}

export const durableFiles: DurableFiles = {
  async makeDirectory(path) {
    try {
      await createDirectory(path, rootOnly);
    } catch (err) {
      if (errorCode(err) !== 'EEXIST')
        throw new KubeletError('internal', 'FailedMkdir', `cannot create ${path}`, { cause: err });
      // Refuses a link, which could lead to a directory that others read.
      await setDirectoryMode(path, rootOnly);
    }
  },
  list: (directory) => recordFiles.list(directory),
  read: (path, limitBytes) => recordFiles.read(path, limitBytes),
  async write(path, text) {
    await recordFiles.write(path, text);
    await flushDirectory(dirname(path));
  },
  async remove(path) {
    await recordFiles.remove(path);
    await flushDirectory(dirname(path));
  },
  async move(path, to) {
    await rename(path, to);
    await flushDirectory(dirname(to));
  },
  async removeTree(path) {
    try {
      await lstat(path);
    } catch (err) {
      if (isMissing(err)) return false;
      throw err;
    }
    const fd = await openFile(dirname(path), O_RDONLY | O_DIRECTORY);
    try {
      await removeDirectory(fd, basename(path));
      await flush(fd);
    } finally {
      closeSync(fd);
    }
    return true;
  },
};

async function flushDirectory(path: string): Promise<void> {
  try {
    const fd = await openFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      await flush(fd);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (isMissing(cause)) return;
    throw new KubeletError('internal', 'FailedFlush', `cannot flush ${path}`, { cause });
  }
}

/** Empty if the machine has none. Another failure must not pass for another machine, whose records are set aside. */
export async function readMachineId(path = '/etc/machine-id'): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (err) {
    if (isMissing(err)) return '';
    throw err;
  }
}
