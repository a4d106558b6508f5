// Removes a directory with its content. Invariants: every entry is reached through the open descriptor of its directory, so
// that no link is followed, also when one is swapped in meanwhile; a directory that was reached through another mount than its
// parent, or lies on another file system, is not entered; the depth of a tree, not its width, bounds the open descriptors.
import { closeSync, constants, fstatSync, open, rmdir, unlink } from 'node:fs';
import { promisify } from 'node:util';
import { allEnded } from '../../base/all-ended.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../host/syscalls-errors.ts';
import { entryOf, mountIdOf, realPathOf } from './descriptors.ts';
import { directorySlices } from './directory-slices.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** Whoever still adds files after so many rounds keeps the directory. */
const mostTurns = 16;

const openFile = promisify(open);
const removeLeaf = promisify(rmdir);
const removeFile = promisify(unlink);

/** By which mount, and on which file system, everything has to be reached; of the topmost directory only the mount is known. */
interface Ground {
  readonly mountId: string;
  readonly dev: number | undefined;
}

/** Removes what is named in an open directory: a directory with its content, or a link or file. Nothing there is fine. */
export async function removeDirectory(parentFd: number, name: string): Promise<void> {
  await removeEntry(entryOf(parentFd, name), { mountId: mountIdOf(parentFd), dev: undefined });
}

async function removeEntry(path: string, ground: Ground): Promise<void> {
  const fd = await openDirectory(path);
  if (fd === 'missing') return;
  if (fd === 'other') {
    await ignoreMissing(removeFile(path));
    return;
  }
  try {
    // The mount first: of what is mounted there nothing is asked, for it may be a server's.
    if (mountIdOf(fd) !== ground.mountId) throw mounted(fd);
    const { dev } = fstatSync(fd);
    if (ground.dev !== undefined && ground.dev !== dev) throw mounted(fd);
    await emptyAndRemove(fd, path, { ...ground, dev });
  } finally {
    closeSync(fd);
  }
}

function mounted(fd: number): KubeletError {
  return new KubeletError('conflict', 'MountBusy', `cannot remove ${realPathOf(fd)}: it is mounted`);
}

async function openDirectory(path: string): Promise<number | 'missing' | 'other'> {
  try {
    return await openFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (err) {
    const code = errorCode(err);
    if (code === 'ENOENT') return 'missing';
    if (code === 'ENOTDIR' || code === 'ELOOP') return 'other';
    throw err;
  }
}

/** A listing may miss entries when others are removed beside it: it is begun anew until the directory is empty. */
async function emptyAndRemove(fd: number, path: string, ground: Ground): Promise<void> {
  for (let turn = 1; ; turn++) {
    await emptyOnce(fd, ground);
    try {
      await ignoreMissing(removeLeaf(path));
      return;
    } catch (err) {
      const isNotEmpty = ['ENOTEMPTY', 'EEXIST'].includes(errorCode(err) ?? '');
      if (!isNotEmpty || turn === mostTurns) throw err;
    }
  }
}

async function emptyOnce(fd: number, ground: Ground): Promise<void> {
  const subdirectories: string[] = [];
  for await (const slice of directorySlices(`/proc/self/fd/${fd}`, fstatSync(fd).size)) {
    await allEnded(
      slice.map(async (entry) => {
        if (entry.isDirectory()) subdirectories.push(entry.name);
        else await ignoreMissing(removeFile(entryOf(fd, entry.name)));
      }),
    );
  }
  for (const name of subdirectories) await removeEntry(entryOf(fd, name), ground);
}

/** What others have removed already is what was wanted. */
export async function ignoreMissing(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (err) {
    if (errorCode(err) !== 'ENOENT') throw err;
  }
}
