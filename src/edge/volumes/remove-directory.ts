// Removes a directory with its content. Invariants: every entry is reached through the open descriptor of its directory, so
// that no link is followed, also when one is swapped in meanwhile; a directory that was reached through another mount than its
// parent, or lies on another file system, is not entered; neither the depth of a tree nor its width bounds what can be removed,
// and neither is kept in memory or in descriptors whole.
import { fstatSync, open, rmdir, type Stats, unlink } from 'node:fs';
import { promisify } from 'node:util';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { mountIdOf, rawEntryOf, realPathOf } from './descriptors.ts';
import { type RawName, toRaw } from './raw-names.ts';
import { directorySlices } from './usage/directory-slices.ts';
import { DirectoryStack } from './usage/directory-stack.ts';

/** Whoever still adds files after so many rounds keeps the directory. */
const mostTurns = 16;
/** Subdirectories that are remembered of one listing: what was removed is not in the next one. */
const mostRemembered = 1024;

const openFile = promisify(open);
const removeLeaf = promisify(rmdir);
const removeFile = promisify(unlink);

/** A directory that is being emptied. */
interface Emptying {
  /** Its subdirectories that are still to be removed, as far as they were listed. */
  readonly subdirectories: RawName[];
  /** How often it was not empty although everything that was listed is gone. */
  turns: number;
}

/** Removes what is named in an open directory: a directory with its content, or a link or file. Nothing there is fine. */
export async function removeDirectory(parentFd: number, name: string): Promise<void> {
  const mountId = mountIdOf(parentFd);
  const admit = (fd: number): void => {
    if (mountIdOf(fd) !== mountId) throw mounted(fd);
  };
  let dev: number | undefined;
  const fstat = (fd: number): Stats => {
    const stat = fstatSync(fd);
    // Of the topmost directory only the mount is known.
    dev ??= stat.dev;
    if (stat.dev !== dev) throw mounted(fd);
    return stat;
  };
  const stack = new DirectoryStack(parentFd, fstatSync(parentFd), { open: openFile, fstat, admit });
  try {
    if (!(await enterOrRemove(stack, toRaw(name)))) return;
    const emptying: Emptying[] = [{ subdirectories: [], turns: 0 }];
    for (let current = emptying.at(-1); current !== undefined; current = emptying.at(-1)) {
      const next = current.subdirectories.pop();
      if (next !== undefined) {
        if (await enterOrRemove(stack, next)) emptying.push({ subdirectories: [], turns: 0 });
        continue;
      }
      await emptyOnce(stack.fd, current.subdirectories);
      if (current.subdirectories.length === 0 && (await leaveAndRemove(stack, current))) emptying.pop();
    }
  } finally {
    stack.close();
  }
}

/** True when it is a directory and was entered. */
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

/** Removes the files, and lists subdirectories, only so many at once. */
async function emptyOnce(fd: number, subdirectories: RawName[]): Promise<void> {
  for await (const slice of directorySlices(`/proc/self/fd/${fd}`, fstatSync(fd).size)) {
    await settleAll(
      slice.map(async (entry) => {
        if (entry.isDirectory()) subdirectories.push(entry.name);
        else await ignoreMissing(removeFile(rawEntryOf(fd, entry.name)));
      }),
    );
    if (subdirectories.length >= mostRemembered) return;
  }
}

/**
 * Removes the directory where the walk is, and goes back up. A listing may miss entries when others are removed beside it: when it
 * is not empty it is entered once more.
 */
async function leaveAndRemove(stack: DirectoryStack, current: Emptying): Promise<boolean> {
  const name = await stack.leave();
  try {
    await ignoreMissing(removeLeaf(rawEntryOf(stack.fd, name)));
    return true;
  } catch (err) {
    const code = errorCode(err);
    // Swapped for something else, which is removed as what it is.
    if (code === 'ENOTDIR') return !(await enterOrRemove(stack, name));
    if (!['ENOTEMPTY', 'EEXIST'].includes(code ?? '') || ++current.turns === mostTurns) throw err;
    return !(await enterOrRemove(stack, name));
  }
}

/** What others have removed already is what was wanted. */
export async function ignoreMissing(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (err) {
    if (errorCode(err) !== 'ENOENT') throw err;
  }
}
