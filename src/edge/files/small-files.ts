// Reads and writes small files with as few trips to Node's thread pool as possible: a trip costs about 100 µs of CPU, and up
// to 0.5 ms if a core has to wake up; the system call itself takes a few µs.
// Invariant: every call that may wait for a disk or a lock goes to the pool; only calls on the in-memory state of an open
// descriptor, or of a file created just before, are synchronous. See docs/decisions/0006-trips-to-the-thread-pool.md.
// Files that a pod can change (its hosts file, its termination message, anything below a writable hostPath) are opened by
// openRegular and read up to the caller's limit: a pod can replace them by links, FIFOs, devices or sparse files of gigabytes.
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

// Numeric descriptors instead of FileHandles, whose close costs another trip.
export const openFile = promisify(open);
export const readInto = promisify(read);
const writeFrom = promisify(write);
const changeMode = promisify(fchmod);
const changeOwner = promisify(fchown);
const mkdirInPool = promisify(mkdir);
const changePathMode = promisify(chmod);
const truncateFile = promisify(ftruncate);

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } =
  constants;
const openPath = 0o10000000;
const permissionBits = 0o7777;
/** The most that the kernel returns of its own files in one read. */
const smallBytes = 4096;

export interface NewFile {
  readonly data: Uint8Array | string;
  /** Independent of the umask. */
  readonly mode: number;
  /** The owning user. The group is not changed. */
  readonly owner?: number | undefined;
}

/** Creates a new file. EEXIST if the path exists, even as a link. */
export async function createFile(path: string, { data, mode, owner }: NewFile): Promise<void> {
  const fd = await openFile(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode);
  try {
    await writeAll(fd, data);
    // A change of owner clears mode bits, so the mode is set last.
    if (owner !== undefined) await changeOwner(fd, owner, fstatSync(fd).gid);
    if ((fstatSync(fd).mode & permissionBits) !== mode) await changeMode(fd, mode);
  } finally {
    // Closing a new file does not wait for the disk.
    closeSync(fd);
  }
}

/** Creates a new directory with this mode, independent of the umask. EEXIST if the path exists, even as a link. */
export async function createDirectory(path: string, mode: number): Promise<void> {
  await mkdirInPool(path, mode);
  // Synchronous: the new directory and its path are in the kernel's cache.
  const fd = openSync(path, openPath | O_DIRECTORY | O_NOFOLLOW);
  try {
    // Through the descriptor: a link swapped in meanwhile must not redirect the change.
    if ((fstatSync(fd).mode & permissionBits) !== mode) await changePathMode(`/proc/self/fd/${fd}`, mode);
  } finally {
    closeSync(fd);
  }
}

/** Sets the mode of a directory. Does not follow a link at the end of the path. Every call goes to the pool. */
export async function setDirectoryMode(path: string, mode: number): Promise<void> {
  const fd = await openFile(path, openPath | O_DIRECTORY | O_NOFOLLOW);
  try {
    await changePathMode(`/proc/self/fd/${fd}`, mode);
  } finally {
    closeSync(fd);
  }
}

/**
 * Writes this text into an existing file and keeps its inode, since the file may be mounted. An unchanged file is not written.
 * Throws NotAFile for anything but a regular file with one name: a symbolic or hard link could redirect the text to any file.
 */
export async function rewriteFile(path: string, text: string, mode: number): Promise<void> {
  const { fd, stats } = await openRegular(path, O_RDWR);
  try {
    if (stats.nlink > 1) throw notAFile(path, 'it has several names');
    const data = Buffer.from(text);
    if (!(await holds(fd, data))) {
      await truncateFile(fd, 0);
      await writeAll(fd, data);
    }
    if ((stats.mode & permissionBits) !== mode) await changeMode(fd, mode);
  } finally {
    closeSync(fd);
  }
}

/** Whether a path is a regular file with exactly these bytes. ENOENT if it does not exist. */
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

/** Whether an open file has exactly these bytes. A file of another length is not read. */
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
 * Opens regular files only. A link is rejected, and a FIFO or device is not opened at all, since opening one may block
 * indefinitely or have side effects. The caller closes the descriptor.
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

/** The reason of the error for a path that is not a regular file. */
export const notAFileReason = 'NotAFile';

/** Writes a kernel file (proc, cgroup). Never creates it; the value is in effect when the call returns. */
export async function writeKernelFile(path: string, value: string): Promise<void> {
  const fd = await openFile(path, O_WRONLY | O_TRUNC);
  try {
    await writeAll(fd, value);
  } finally {
    closeSync(fd);
  }
}

/** Reads a short kernel file in a single read. */
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
  /** A longer file is rejected with TooLarge. */
  readonly limitBytes: number;
  /** Whether the path may be a link. Only for paths that no pod can change, such as /etc. */
  readonly followLinks?: boolean;
}

/** Reads a whole file, in one read if its size is known. */
export async function readSmallFile(path: string, options: ReadOptions): Promise<string> {
  return (await readSmallBytes(path, options)).toString('utf8');
}

/** As readSmallFile(), in bytes. */
export async function readSmallBytes(path: string, options: ReadOptions): Promise<Buffer> {
  const { followLinks = false, limitBytes } = options;
  const fd = followLinks ? await openFile(path, O_RDONLY | O_NONBLOCK) : (await openRegular(path)).fd;
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw notAFile(path, 'it is not a regular file');
    // Kernel files report no size and are read to the end.
    const { size } = stats;
    if (size > limitBytes) throw tooLarge(path, limitBytes);
    let buffer = Buffer.allocUnsafe(size > 0 ? size : 2 * smallBytes);
    let length = 0;
    for (;;) {
      const { bytesRead } = await readInto(fd, buffer, length, buffer.length - length, null);
      length += bytesRead;
      if (length > limitBytes) throw tooLarge(path, limitBytes);
      if (bytesRead === 0 || length === size) return buffer.subarray(0, length);
      // Room for everything that the next read may return.
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

export async function writeAll(fd: number, data: Uint8Array | string): Promise<void> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await writeFrom(fd, bytes, done, bytes.length - done, null);
    done += bytesWritten;
  }
}
