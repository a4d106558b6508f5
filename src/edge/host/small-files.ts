// Small files in as few trips to Node's thread pool as the work allows: a trip costs some 100 µs of processor time, and up
// to half a millisecond of waiting where a core has to be woken; the system call itself takes a few µs.
// Invariant: whatever may wait for a disk or a lock goes to the pool; only what touches an open descriptor's state in memory, or
// that of what was made this moment, is called in place. See docs/decisions/0006-trips-to-the-thread-pool.md.
import {
  chmod,
  closeSync,
  constants,
  fchmod,
  fchown,
  fstatSync,
  lstatSync,
  mkdir,
  open,
  read,
  write,
} from 'node:fs';
import { promisify } from 'node:util';

// Numbers instead of FileHandles, which insist on being closed by a trip of their own.
export const openFile = promisify(open);
export const readInto = promisify(read);
const writeFrom = promisify(write);
const changeMode = promisify(fchmod);
const changeOwner = promisify(fchown);
const makeDirectory = promisify(mkdir);
const changePathMode = promisify(chmod);

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
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
  if ((lstatSync(path).mode & permissionBits) !== mode) await changePathMode(path, mode);
}

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

/** The whole of a file. Where its size is known it takes one read. */
export async function readSmallFile(path: string): Promise<string> {
  return (await readSmallBytes(path)).toString('utf8');
}

/** The same, as it is. */
export async function readSmallBytes(path: string): Promise<Buffer> {
  const fd = await openFile(path, O_RDONLY);
  try {
    // Files of the kernel's have no size: they are read until there is no more.
    const { size } = fstatSync(fd);
    let buffer = Buffer.allocUnsafe(size > 0 ? size : 2 * smallBytes);
    let length = 0;
    for (;;) {
      const { bytesRead } = await readInto(fd, buffer, length, buffer.length - length, null);
      length += bytesRead;
      if (bytesRead === 0 || length === size) return buffer.subarray(0, length);
      // Room for all that the next read may give, so that none is cut in two.
      if (buffer.length - length < smallBytes)
        buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
    }
  } finally {
    closeSync(fd);
  }
}

async function writeAll(fd: number, data: Uint8Array | string): Promise<void> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await writeFrom(fd, bytes, done, bytes.length - done, null);
    done += bytesWritten;
  }
}
