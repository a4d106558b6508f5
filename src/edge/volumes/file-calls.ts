// The calls to the file system that a volume's files need, in two versions. Those on a disk go to Node's thread pool, for a disk
// may be waited for. Those inside a file system in memory are made in place: there is nothing to wait for, and a trip to the
// pool costs many times what the call does (docs/decisions/0006-trips-to-the-thread-pool.md).
// Invariant: in place only in a file system that is one in memory, and only when there is little in it and little to write,
// so that the event loop is held for a few milliseconds at most.
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
  /** With this mode whatever the umask; EEXIST when something is there. */
  createDirectory(path: string, mode: number): Promise<void>;
  /** With what is missing above it; one that is there stays. */
  makeDirectories(path: string, mode: number): Promise<void>;
  /** With this mode whatever the umask; EEXIST when something is there. */
  createFile(path: string, file: NewFile): Promise<void>;
  /** Whether a file is these bytes; one of another length is not read. */
  holds(path: string, data: Uint8Array): Promise<boolean>;
  readlink(path: string): Promise<string>;
  symlink(target: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  isDirectory(path: string): Promise<boolean>;
  names(path: string): Promise<readonly string[]>;
  /** Of everything below, relative to the path. */
  namesBelow(path: string): Promise<readonly string[]>;
  removeTree(path: string): Promise<void>;
  /** The descriptor is the caller's to close, in place: of a directory, or by path only, which no server is asked for. */
  open(path: string | Buffer, flags: number): Promise<number>;
  fstat(fd: number): Promise<Stats>;
  chown(path: string, user: number, group: number): Promise<void>;
  lchown(path: string | Buffer, user: number, group: number): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  /** The entries of a directory a slice at a time; `sizeBytes` is its own size. */
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

/** Removes a directory of which the one above is the kubelet's own. */
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
      // A change of owner clears bits of the mode, so the mode comes last.
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
  // Its files are few, and a version of the content is removed only when another is in its place: the pool will do.
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

/** Never of what a link leads to. */
function fileFacts(path: string): { readonly isFile: boolean; readonly size: number } {
  const stat = lstatSync(path);
  return { isFile: stat.isFile(), size: stat.size };
}

const tmpfsMagic = 0x01021994;
/** What is done in place: some milliseconds' worth. Nearly all secrets and tokens are far below. */
const mostBytes = 1_048_576;
const mostEntries = 256;

/**
 * The calls for a directory that a file system in memory is mounted on: in place when it is one, with little in it, and
 * little is to be written.
 */
export function callsInMemory(path: string, content: Content): FileCalls {
  if (content.size > mostEntries) return diskCalls;
  let bytes = 0;
  for (const { data } of content.values()) bytes += data.length;
  if (bytes > mostBytes) return diskCalls;
  // It is mounted, so the way to it is in memory, and so is what it tells of itself.
  const { type, bsize, blocks, bfree, files, ffree } = statfsSync(path);
  const isSmall = files - ffree <= mostEntries && (blocks - bfree) * bsize <= mostBytes;
  return type === tmpfsMagic && isSmall ? memoryCalls : diskCalls;
}
