// Removes a directory with its content. Invariants: every entry is reached through the open descriptor of its directory, so that
// no link is followed, even one swapped in concurrently; a directory on another mount or file system than its parent is not
// entered; trees of any depth and width can be removed, with bounded memory and descriptors.
import { fstatSync, open, rmdir, type Stats, unlink } from 'node:fs';
import { promisify } from 'node:util';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { mountIdOf, rawEntryOf, realPathOf } from './descriptors.ts';
import { type RawName, toRaw } from './raw-names.ts';
import { directorySlices } from './usage/directory-slices.ts';
import { DirectoryStack } from './usage/directory-stack.ts';

/** Gives up if files are still being added after this many rounds. */
const maxRounds = 16;
/** Subdirectories kept from one listing; the next listing has the remaining ones. */
const maxListed = 1024;

const openFile = promisify(open);
const removeLeaf = promisify(rmdir);
const removeFile = promisify(unlink);

/** A directory that is being emptied. */
interface Emptying {
  /** Listed subdirectories that are still to be removed. */
  readonly subdirectories: RawName[];
  /** How often it was not empty after all listed entries were removed. */
  rounds: number;
}

/** Removes an entry of an open directory: a directory with its content, a link or a file. A missing entry is not an error. */
export async function removeDirectory(parentFd: number, name: string): Promise<void> {
  const mountId = mountIdOf(parentFd);
  const admit = (fd: number): void => {
    if (mountIdOf(fd) !== mountId) throw mounted(fd);
  };
  let dev: number | undefined;
  const fstat = (fd: number): Stats => {
    const stat = fstatSync(fd);
    // The device of the topmost directory is the reference; its mount was checked already.
    dev ??= stat.dev;
    if (stat.dev !== dev) throw mounted(fd);
    return stat;
  };
  const stack = new DirectoryStack(parentFd, fstatSync(parentFd), { open: openFile, fstat, admit });
  try {
    if (!(await enterOrRemove(stack, toRaw(name)))) return;
    const emptying: Emptying[] = [{ subdirectories: [], rounds: 0 }];
    for (let current = emptying.at(-1); current !== undefined; current = emptying.at(-1)) {
      const next = current.subdirectories.pop();
      if (next !== undefined) {
        if (await enterOrRemove(stack, next)) emptying.push({ subdirectories: [], rounds: 0 });
        continue;
      }
      await emptyOnce(stack.fd, current.subdirectories);
      if (current.subdirectories.length === 0 && (await leaveAndRemove(stack, current))) emptying.pop();
    }
  } finally {
    stack.close();
  }
}

/** True if the entry is a directory, which is entered then. */
async function enterOrRemove(stack: DirectoryStack, name: RawName): Promise<boolean> {
  const above = stack.fd;
  try {
    await stack.enter(name);
    return true;
  } catch (err) {
    const code = errorCode(err);
    if (code === 'ENOTDIR' || code === 'ELOOP') await ignoreMissing(removeFile(rawEntryOf(above, name)));
    else if (code !== 'ENOENT') throw err;
    return false;
  }
}

function mounted(fd: number): KubeletError {
  return new KubeletError('conflict', 'MountBusy', `cannot remove ${realPathOf(fd)}: it is mounted`);
}

/** Removes the files and lists subdirectories, up to maxListed. */
async function emptyOnce(fd: number, subdirectories: RawName[]): Promise<void> {
  for await (const slice of directorySlices(`/proc/self/fd/${fd}`, fstatSync(fd).size)) {
    await settleAll(
      slice.map(async (entry) => {
        if (entry.isDirectory()) subdirectories.push(entry.name);
        else await ignoreMissing(removeFile(rawEntryOf(fd, entry.name)));
      }),
    );
    if (subdirectories.length >= maxListed) return;
  }
}

/**
 * Removes the current directory and returns to its parent. A listing may miss entries while others are removed, so a directory
 * that is not empty is entered once more.
 */
async function leaveAndRemove(stack: DirectoryStack, current: Emptying): Promise<boolean> {
  const name = await stack.leave();
  try {
    await ignoreMissing(removeLeaf(rawEntryOf(stack.fd, name)));
    return true;
  } catch (err) {
    const code = errorCode(err);
    // The directory was replaced by another kind of entry, which is removed.
    if (code === 'ENOTDIR') return !(await enterOrRemove(stack, name));
    if (!['ENOTEMPTY', 'EEXIST'].includes(code ?? '') || ++current.rounds === maxRounds) throw err;
    return !(await enterOrRemove(stack, name));
  }
}

export async function ignoreMissing(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (err) {
    if (errorCode(err) !== 'ENOENT') throw err;
  }
}
