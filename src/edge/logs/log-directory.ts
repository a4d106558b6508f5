// Opens files of a log directory for clients that may read the node's logs. Upstream: http.Dir.
// Invariant: opened files are inside the directory (or one of the others that belong to it), verified on the open descriptor, so
// that a link that is swapped meanwhile has no effect; only regular files and directories are opened for reading.
// differs from upstream: there links are followed anywhere, so that a process that can create a link below /var/log reads every
// file of the node.
import { closeSync, constants, fstatSync } from 'node:fs';
import { type FileHandle, open, opendir, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { openFile } from '../files/small-files.ts';

interface LogDirectoryOptions {
  readonly root: string;
  /** Directories outside the root that links may lead to: the pods' logs. */
  readonly others: readonly string[];
}

const readOnly = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const openPath = 0o10000000;
const maxEntries = 10_000;
const sniffBytes = 512;
const chunkBytes = 64 * 1024;

export function logDirectory({ others, root }: LogDirectoryOptions) {
  return {
    open: async (path: string, signal: AbortSignal) => {
      if (path.includes('\u0000')) return undefined;
      try {
        return await openInside([root, ...others], join(root, path), signal);
      } catch (err) {
        const { code } = err as NodeJS.ErrnoException;
        if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENAMETOOLONG')
          return undefined;
        if (code === 'EACCES' || code === 'EPERM') throw forbidden(path, err);
        throw err;
      }
    },
  };
}

/** Never opens devices, which may have side effects, also if one is swapped in meanwhile. */
async function openPlain(path: string): Promise<FileHandle> {
  const found = await openFile(path, openPath);
  try {
    const kind = fstatSync(found);
    if (!kind.isFile() && !kind.isDirectory()) throw forbidden(path);
    return await open(`/proc/self/fd/${found}`, readOnly);
  } finally {
    closeSync(found);
  }
}

async function openInside(roots: readonly string[], path: string, signal: AbortSignal) {
  signal.throwIfAborted();
  const file = await openPlain(path);
  let isHandedOut = false;
  try {
    const real = await readlink(`/proc/self/fd/${file.fd}`);
    if (!(await isInside(roots, real))) throw forbidden(path);
    const found = await file.stat();
    if (found.isDirectory())
      return { kind: 'directory' as const, changedAtMs: found.mtimeMs, entries: await entriesOf(file.fd) };
    if (!found.isFile()) throw forbidden(path);
    const looksLikeText = await isText(file);
    isHandedOut = true;
    return {
      kind: 'file' as const,
      changedAtMs: found.mtimeMs,
      bytes: found.size,
      looksLikeText,
      read: (from: number, to: number) => readPart(file, from, to),
      close: () => file.close(),
    };
  } finally {
    if (!isHandedOut) await file.close();
  }
}

async function isInside(roots: readonly string[], real: string): Promise<boolean> {
  for (const root of roots) {
    const base = await realpath(root).catch(() => undefined);
    if (base !== undefined && (real === base || real.startsWith(base === '/' ? '/' : `${base}/`)))
      return true;
  }
  return false;
}

/** Sorted by name, directories with a trailing slash. Truncated for large directories, which a pod may fill. */
async function entriesOf(fd: number): Promise<readonly string[]> {
  const entries: string[] = [];
  for await (const entry of await opendir(`/proc/self/fd/${fd}`, { bufferSize: 1024 })) {
    entries.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
    if (entries.length >= maxEntries) break;
  }
  return entries.toSorted((a, b) => (a < b ? -1 : 1));
}

/** Control characters except tabs, line ends, form feeds and escapes. */
function isBinary(byte: number): boolean {
  return byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b;
}

async function isText(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(sniffBytes), 0, sniffBytes, 0);
  return !buffer.subarray(0, bytesRead).some(isBinary);
}

/** Closes the file once it is read or the iterator is returned, also before the first read. */
function readPart(file: FileHandle, from: number, to: number): AsyncIterable<Uint8Array> {
  const chunks = chunksOf(file, from, to);
  const iterator: AsyncIterator<Uint8Array> = {
    next: () => chunks.next(),
    return: async () => {
      await file.close();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function* chunksOf(file: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array> {
  try {
    for (let at = from; at < to; ) {
      const buffer = Buffer.alloc(Math.min(chunkBytes, to - at));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      // Truncated meanwhile: the announced length cannot be sent.
      if (bytesRead === 0)
        throw new KubeletError('conflict', 'FileShrank', 'the file was truncated while it was read');
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

function forbidden(path: string, cause?: unknown): KubeletError {
  return new KubeletError('forbidden', 'Forbidden', `${path} may not be read`, { cause });
}
