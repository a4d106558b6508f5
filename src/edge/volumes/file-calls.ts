// File system calls for the files of volumes, in two versions. Calls on disk run in Node's thread pool, since a disk may block.
// Calls in a file system in memory run synchronously: nothing blocks, and a trip to the pool costs many times the call itself
// (docs/decisions/0006-trips-to-the-thread-pool.md).
// Invariant: synchronous calls are used only in a tmpfs with few files and little to write, so that the event loop is blocked for
// a few milliseconds at most.
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstat,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  type Stats,
  statfsSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  readdir,
  readlink,
  rename,
  symlink,
  unlink,
} from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import type { Content } from '../../api/ports/volume-host.ts';
import { createDirectory, createFile, fileHolds, type NewFile } from '../files/small-files.ts';
import { type RawEntry, rawEncoding, rawEntry } from './raw-names.ts';
import { removeDirectory } from './remove-directory.ts';
import { directorySlices } from './usage/directory-slices.ts';

export interface FileCalls {
  /** Ignores the umask; EEXIST if the path exists. */
  createDirectory(path: string, mode: number): Promise<void>;
  /** With missing parents; an existing directory is left unchanged. */
  makeDirectories(path: string, mode: number): Promise<void>;
  /** Ignores the umask; EEXIST if the path exists. */
  createFile(path: string, file: NewFile): Promise<void>;
  /** Whether a file has this content; a file of another length is not read. */
  holds(path: string, data: Uint8Array): Promise<boolean>;
  readlink(path: string): Promise<string>;
  symlink(target: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  isDirectory(path: string): Promise<boolean>;
  names(path: string): Promise<readonly string[]>;
  /** Recursive, relative to the path. */
  namesBelow(path: string): Promise<readonly string[]>;
  removeTree(path: string): Promise<void>;
  /** For directories or with O_PATH, so that the caller can close the descriptor synchronously. */
  open(path: string | Buffer, flags: number): Promise<number>;
  fstat(fd: number): Promise<Stats>;
  chown(path: string, user: number, group: number): Promise<void>;
  lchown(path: string | Buffer, user: number, group: number): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  /** The entries of a directory in slices; `sizeBytes` is the size of the directory itself. */
  slices(path: string, sizeBytes: number): AsyncIterable<readonly RawEntry[]>;
}

const openInPool = promisify(open);
const fstatInPool = promisify(fstat);

export const diskCalls: FileCalls = {
  createDirectory,
  makeDirectories: async (path, mode) => void (await mkdir(path, { recursive: true, mode })),
  createFile,
  holds: fileHolds,
  readlink: (path) => readlink(path),
  symlink: (target, path) => symlink(target, path),
  rename,
  unlink,
  isDirectory: async (path) => (await lstat(path)).isDirectory(),
  names: (path) => readdir(path),
  namesBelow: (path) => readdir(path, { recursive: true }),
  removeTree: removeByPath,
  open: (path, flags) => openInPool(path, flags),
  fstat: (fd) => fstatInPool(fd),
  chown,
  lchown,
  chmod,
  slices: directorySlices,
};

/** Removes a directory whose parent belongs to the kubelet. */
async function removeByPath(path: string): Promise<void> {
  const parent = await openInPool(
    dirname(path),
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  try {
    await removeDirectory(parent, basename(path));
  } finally {
    closeSync(parent);
  }
}

const permissionBits = 0o7777;

export const memoryCalls: FileCalls = {
  async createDirectory(path, mode) {
    mkdirSync(path, mode);
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      if ((fstatSync(fd).mode & permissionBits) !== mode) fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
  },
  makeDirectories: async (path, mode) => void mkdirSync(path, { recursive: true, mode }),
  async createFile(path, { data, mode, owner }) {
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
    const fd = openSync(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode);
    try {
      writeFileSync(fd, data);
      // fchown clears mode bits, so the mode is set last.
      if (owner !== undefined) fchownSync(fd, owner, fstatSync(fd).gid);
      if ((fstatSync(fd).mode & permissionBits) !== mode) fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
  },
  async holds(path, data) {
    const { isFile, size } = fileFacts(path);
    return isFile && size === data.length && readFileSync(path).equals(data);
  },
  readlink: async (path) => readlinkSync(path),
  symlink: async (target, path) => symlinkSync(target, path),
  rename: async (from, to) => renameSync(from, to),
  unlink: async (path) => unlinkSync(path),
  isDirectory: async (path) => lstatSync(path).isDirectory(),
  names: async (path) => readdirSync(path),
  namesBelow: async (path) => readdirSync(path, { recursive: true }) as string[],
  // Not urgent: an old version is removed after the new one is visible, so the pool is fast enough.
  removeTree: removeByPath,
  open: async (path, flags) => openSync(path, flags),
  fstat: async (fd) => fstatSync(fd),
  chown: async (path, user, group) => chownSync(path, user, group),
  lchown: async (path, user, group) => lchownSync(path, user, group),
  chmod: async (path, mode) => chmodSync(path, mode),
  async *slices(path) {
    yield readdirSync(path, { withFileTypes: true, encoding: rawEncoding }).map(rawEntry);
  },
};

/** Does not follow links. */
function fileFacts(path: string): { readonly isFile: boolean; readonly size: number } {
  const stat = lstatSync(path);
  return { isFile: stat.isFile(), size: stat.size };
}

const tmpfsMagic = 0x01021994;
/** Bounds for synchronous calls, worth a few milliseconds. Nearly all secrets and tokens are far below. */
const maxBytes = 1_048_576;
const maxEntries = 256;

/** The calls for the mount point of a file system in memory: synchronous if it is a tmpfs with few files and little to write. */
export function callsInMemory(path: string, content: Content): FileCalls {
  if (content.size > maxEntries) return diskCalls;
  let bytes = 0;
  for (const { data } of content.values()) bytes += data.length;
  if (bytes > maxBytes) return diskCalls;
  // The path is in the dentry cache since it is mounted, so statfs does not block.
  const { type, bsize, blocks, bfree, files, ffree } = statfsSync(path);
  const isSmall = files - ffree <= maxEntries && (blocks - bfree) * bsize <= maxBytes;
  return type === tmpfsMagic && isSmall ? memoryCalls : diskCalls;
}
