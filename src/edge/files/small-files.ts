// Small files in as few trips to Node's thread pool as the work allows: a trip costs some 100 µs of processor time, and up
// to half a millisecond of waiting where a core has to be woken; the system call itself takes a few µs.
// Invariant: whatever may wait for a disk or a lock goes to the pool; only what touches an open descriptor's state in memory, or
// that of what was made this moment, is called in place. See docs/decisions/0006-trips-to-the-thread-pool.md.
// Files that a pod can reach (its hosts file, its termination message, whatever lies below a writable hostPath) are opened by
// openRegular and read no further than the caller's bound: a pod can make them links, FIFOs, devices or sparse gigabytes.
import {
  chmod,
  closeSync,
  constants,
  fchmod,
  fchown,
  fstatSync,
  ftruncate,
  mkdir,
  open,
  openSync,
  read,
  type Stats,
  write,
} from 'node:fs';
import { promisify } from 'node:util';
import { KubeletError } from '../../base/errors.ts';

// Numbers instead of FileHandles, which insist on being closed by a trip of their own.
export const openFile = promisify(open);
export const readInto = promisify(read);
const writeFrom = promisify(write);
const changeMode = promisify(fchmod);
const changeOwner = promisify(fchown);
const makeDirectory = promisify(mkdir);
const changePathMode = promisify(chmod);
const cutFile = promisify(ftruncate);

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } =
  constants;
const openPath = 0o10000000;
const permissionBits = 0o7777;
/** As much as the kernel gives of its own files at once. */
const smallBytes = 4096;

export interface NewFile {
  readonly data: Uint8Array | string;
  /** As given, whatever the umask. */
  readonly mode: number;
  /** Its user; the group stays. */
  readonly owner?: number | undefined;
}

/** Makes a file that is not there yet. EEXIST when something is, and be it a link. */
export async function createFile(path: string, { data, mode, owner }: NewFile): Promise<void> {
  const fd = await openFile(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode);
  try {
    await writeAll(fd, data);
    // A change of owner clears bits of the mode, so the mode comes last.
    if (owner !== undefined) await changeOwner(fd, owner, fstatSync(fd).gid);
    if ((fstatSync(fd).mode & permissionBits) !== mode) await changeMode(fd, mode);
  } finally {
    // Nothing of a new file is due on the disk because it is closed.
    closeSync(fd);
  }
}

/** Makes a directory that is not there yet, with this mode whatever the umask. EEXIST when something is, and be it a link. */
export async function createDirectory(path: string, mode: number): Promise<void> {
  await makeDirectory(path, mode);
  // What was made this moment is in memory, and so is the way to it.
  const fd = openSync(path, openPath | O_DIRECTORY | O_NOFOLLOW);
  try {
    // By the descriptor: a link that was swapped in meanwhile must not lead the change elsewhere.
    if ((fstatSync(fd).mode & permissionBits) !== mode) await changePathMode(`/proc/self/fd/${fd}`, mode);
  } finally {
    closeSync(fd);
  }
}

/** Sets the mode of a directory, never through a link at the end of the path. Every call goes to the pool. */
export async function setDirectoryMode(path: string, mode: number): Promise<void> {
  const fd = await openFile(path, openPath | O_DIRECTORY | O_NOFOLLOW);
  try {
    await changePathMode(`/proc/self/fd/${fd}`, mode);
  } finally {
    closeSync(fd);
  }
}

/**
 * Writes this text into the file that is there, keeping its inode, for it may be mounted; a file that holds it already is not
 * written. Throws NotAFile for anything but a regular file with one name: a link, symbolic or hard, would have the text written
 * to a file of somebody else's choice.
 */
export async function rewriteFile(path: string, text: string, mode: number): Promise<void> {
  const { fd, stats } = await openRegular(path, O_RDWR);
  try {
    if (stats.nlink > 1) throw notAFile(path, 'it has several names');
    const data = Buffer.from(text);
    if (!(await holds(fd, data))) {
      await cutFile(fd, 0);
      await writeAll(fd, data);
    }
    if ((stats.mode & permissionBits) !== mode) await changeMode(fd, mode);
  } finally {
    closeSync(fd);
  }
}

/** Whether a path is a regular file that holds these bytes and no others. ENOENT when nothing is there. */
export async function fileHolds(path: string, data: Uint8Array): Promise<boolean> {
  const opened = await openRegular(path).catch((err: unknown) => {
    if (err instanceof KubeletError && err.reason === notAFileReason) return undefined;
    throw err;
  });
  if (opened === undefined) return false;
  try {
    return await holds(opened.fd, data);
  } finally {
    closeSync(opened.fd);
  }
}

/** Whether an open file is these bytes. A file of another length is not read. */
async function holds(fd: number, data: Uint8Array): Promise<boolean> {
  if (fstatSync(fd).size !== data.length) return false;
  const buffer = Buffer.allocUnsafe(data.length);
  for (let length = 0; length < data.length; ) {
    const { bytesRead } = await readInto(fd, buffer, length, data.length - length, length);
    if (bytesRead === 0) return false;
    length += bytesRead;
  }
  return buffer.equals(data);
}

/**
 * Opens a regular file and nothing else: a link is refused, and a FIFO or device is not opened at all, for opening one may wait
 * for ever or have effects. The descriptor is the caller's to close.
 */
export async function openRegular(
  path: string,
  access: number = O_RDONLY,
): Promise<{ readonly fd: number; readonly stats: Stats }> {
  const found = await openFile(path, openPath | O_NOFOLLOW);
  try {
    const stats = fstatSync(found);
    if (stats.isSymbolicLink()) throw notAFile(path, 'it is a link');
    if (!stats.isFile()) throw notAFile(path, 'it is not a regular file');
    return { fd: await openFile(`/proc/self/fd/${found}`, access | O_NONBLOCK), stats };
  } finally {
    closeSync(found);
  }
}

function notAFile(path: string, why: string): KubeletError {
  return new KubeletError('invalid', notAFileReason, `refusing to open ${path}: ${why}`, {
    details: { path },
  });
}

/** The reason of the error for what is not a regular file. */
export const notAFileReason = 'NotAFile';

/** A file of the kernel's (proc, cgroup): it is not made, and what was written is done with when the call returns. */
export async function writeKernelFile(path: string, value: string): Promise<void> {
  const fd = await openFile(path, O_WRONLY | O_TRUNC);
  try {
    await writeAll(fd, value);
  } finally {
    closeSync(fd);
  }
}

/** A short file of the kernel's, which a single read gives whole. */
export async function readKernelValue(path: string): Promise<string> {
  const fd = await openFile(path, O_RDONLY);
  try {
    const buffer = Buffer.allocUnsafe(smallBytes);
    const { bytesRead } = await readInto(fd, buffer, 0, buffer.length, null);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    closeSync(fd);
  }
}

interface ReadOptions {
  /** A longer file is refused with TooLarge. */
  readonly limitBytes: number;
  /** Whether the path may be a link: only where no pod can put one, as in /etc. */
  readonly followLinks?: boolean;
}

/** The whole of a file. Where its size is known it takes one read. */
export async function readSmallFile(path: string, options: ReadOptions): Promise<string> {
  return (await readSmallBytes(path, options)).toString('utf8');
}

/** The same, as it is. */
async function readSmallBytes(path: string, options: ReadOptions): Promise<Buffer> {
  const { followLinks = false, limitBytes } = options;
  const fd = followLinks ? await openFile(path, O_RDONLY | O_NONBLOCK) : (await openRegular(path)).fd;
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw notAFile(path, 'it is not a regular file');
    // Files of the kernel's have no size: they are read until there is no more.
    const { size } = stats;
    if (size > limitBytes) throw tooLarge(path, limitBytes);
    let buffer = Buffer.allocUnsafe(size > 0 ? size : 2 * smallBytes);
    let length = 0;
    for (;;) {
      const { bytesRead } = await readInto(fd, buffer, length, buffer.length - length, null);
      length += bytesRead;
      if (length > limitBytes) throw tooLarge(path, limitBytes);
      if (bytesRead === 0 || length === size) return buffer.subarray(0, length);
      // Room for all that the next read may give, so that none is cut in two.
      if (buffer.length - length < smallBytes)
        buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
    }
  } finally {
    closeSync(fd);
  }
}

function tooLarge(path: string, limitBytes: number): KubeletError {
  return new KubeletError('invalid', 'TooLarge', `refusing to read ${path}: more than ${limitBytes} bytes`, {
    details: { path, limitBytes },
  });
}

async function writeAll(fd: number, data: Uint8Array | string): Promise<void> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await writeFrom(fd, bytes, done, bytes.length - done, null);
    done += bytesWritten;
  }
}
