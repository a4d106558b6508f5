// Lists and reads manifest files. Never blocks: a file that is not regular is detected after a non-blocking open.
// Invariant: the stamp changes whenever content, owner or mode of the file may have changed.
// Upstream: pkg/kubelet/config/file.go.
import { type BigIntStats, closeSync, constants, fstatSync } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ErrorKind, KubeletError } from '../../base/errors.ts';
import { openFile, readInto } from '../files/small-files.ts';

interface HostManifestEntry {
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'other' | 'missing' | 'unreadable';
  readonly stamp: string;
  readonly reason?: string;
}

type HostManifestListing =
  | { readonly kind: 'missing' | 'other' }
  | { readonly kind: 'directory' | 'file'; readonly entries: readonly HostManifestEntry[] };

interface HostManifestContent {
  readonly bytes: Uint8Array;
  readonly stamp: string;
  readonly changedAtMs: number;
}

/** The visible entries of a directory in lexical order, or the single file. */
export async function listManifests(path: string): Promise<HostManifestListing> {
  const stats = await statOrMissing(path);
  if (stats === undefined) return { kind: 'missing' };
  if (stats.isFile()) return { kind: 'file', entries: [{ path, kind: 'file', stamp: stampOf(stats) }] };
  if (!stats.isDirectory()) return { kind: 'other' };
  const listed = await namesOrMissing(path);
  if (listed === undefined) return { kind: 'missing' };
  const names = listed.filter((name) => !name.startsWith('.')).sort();
  const entries = await Promise.all(names.map((name) => inspect(join(path, name))));
  return { kind: 'directory', entries: entries.filter((entry) => entry !== undefined) };
}

export async function readManifestFile(path: string, limitBytes: number): Promise<HostManifestContent> {
  // Non-blocking, or opening a pipe without a writer would never return.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const fd = await openFile(path, flags).catch((err: unknown) => fail(err, path));
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (!stats.isFile()) throw new KubeletError('invalid', 'NotAFile', 'it is not a regular file');
    const bytes = await readAtMost(fd, limitBytes, Number(stats.size));
    return { bytes, stamp: stampOf(stats), changedAtMs: changedAtMs(stats) };
  } catch (err) {
    return fail(err, path);
  } finally {
    closeSync(fd);
  }
}

async function inspect(path: string): Promise<HostManifestEntry | undefined> {
  try {
    const stats = await statOrMissing(path);
    if (stats === undefined) return await danglingOrGone(path);
    const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other';
    return { path, kind, stamp: stampOf(stats) };
  } catch (err) {
    return { path, kind: 'unreadable', stamp: '', reason: err instanceof Error ? err.message : String(err) };
  }
}

/** A dangling link is an entry; a file that was removed since the list is not. */
async function danglingOrGone(path: string): Promise<HostManifestEntry | undefined> {
  const exists = await lstat(path).then(
    () => true,
    () => false,
  );
  return exists ? { path, kind: 'missing', stamp: '' } : undefined;
}

async function statOrMissing(path: string): Promise<BigIntStats | undefined> {
  return await stat(path, { bigint: true }).catch((err: unknown) => undefinedIfMissing(err, path));
}

/** The directory may be removed after its stat. */
async function namesOrMissing(path: string): Promise<readonly string[] | undefined> {
  return await readdir(path).catch((err: unknown) => undefinedIfMissing(err, path));
}

function undefinedIfMissing(err: unknown, path: string): undefined {
  const code = codeOf(err);
  return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : fail(err, path);
}

async function readAtMost(fd: number, limitBytes: number, sizeHint: number): Promise<Uint8Array> {
  if (sizeHint > limitBytes) throw tooLarge(limitBytes);
  // One byte more than expected: a read that fills the buffer means that the file has grown.
  let buffer = Buffer.allocUnsafe(sizeHint + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await readInto(fd, buffer, length, buffer.length - length, length);
    length += bytesRead;
    if (length > limitBytes) throw tooLarge(limitBytes);
    // A short read of a regular file means its end.
    if (length < buffer.length) return buffer.subarray(0, length);
    buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
  }
}

function tooLarge(limitBytes: number): KubeletError {
  return new KubeletError('invalid', 'TooLarge', `it is larger than ${limitBytes} bytes`);
}

function stampOf(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
}

function changedAtMs(stats: BigIntStats): number {
  const latest = stats.mtimeNs > stats.ctimeNs ? stats.mtimeNs : stats.ctimeNs;
  return Number(latest / 1_000_000n);
}

const kinds: Readonly<Record<string, ErrorKind>> = {
  ENOENT: 'not-found',
  ENOTDIR: 'not-found',
  EACCES: 'forbidden',
  EPERM: 'forbidden',
  ELOOP: 'invalid',
  ENAMETOOLONG: 'invalid',
  EISDIR: 'invalid',
  ENXIO: 'invalid',
};

const messages: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'too many levels of symbolic links',
  // A socket, which cannot be opened.
  ENXIO: 'it is not a regular file',
};

function fail(err: unknown, path: string): never {
  if (err instanceof KubeletError) throw err;
  const code = codeOf(err) ?? '';
  throw new KubeletError(kinds[code] ?? 'unavailable', 'ManifestUnreadable', messages[code] ?? String(err), {
    cause: err,
    details: { path },
  });
}

function codeOf(err: unknown): string | undefined {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;
}
