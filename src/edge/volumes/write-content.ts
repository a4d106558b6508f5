// Writes the files of a volume atomically: it writes a new directory, then renames the link `..data` to it, so that a reader sees
// the old files or the new ones, never a mixture. Upstream: pkg/volume/util/atomic_writer.go, with the same layout.
// Invariants: one rename changes the visible content; a failed or interrupted write leaves the old content visible and is
// cleaned up by the next one; `..data` always points to a complete version, with owners and modes, even in a new directory.
import { randomInt } from 'node:crypto';
import { dirname, join, normalize } from 'node:path';
import type { Content, ContentFile } from '../../api/ports/volume-host.ts';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import type { FileCalls } from './file-calls.ts';

const dataName = '..data';
const newDataName = '..data_tmp';
const maxPathChars = 4096;
const maxNameBytes = 255;
const stampedName = /^\.\.\d{4}_/;

interface WriteContentHooks {
  /** Calls for the file system of the directory. */
  readonly calls: FileCalls;
  /** Whether the directory was just created, so that it is empty and has no readers. */
  readonly isNew: boolean;
  readonly now: () => number;
  /** Called after the new files are written, before they become visible. */
  readonly setOwnership: () => Promise<void>;
}

type Files = ReadonlyMap<string, ContentFile>;

/** True if anything was written. */
export async function writeContent(
  directory: string,
  content: Content,
  hooks: WriteContentHooks,
): Promise<boolean> {
  const { calls, isNew } = hooks;
  const files = new Map([...content].map(([path, file]) => [validPath(path), file]));
  const oldName = isNew ? undefined : await linkTarget(calls, join(directory, dataName));
  const old = oldName === undefined ? undefined : join(directory, oldName);
  const removed = old === undefined ? [] : await removedPaths(calls, old, files);
  const changed = old === undefined || removed.length > 0 || !(await holds(calls, old, files));
  if (changed) await publish(directory, files, hooks);
  await linkVisible(hooks, directory, files);
  for (const name of removed.filter((path) => !path.includes('/')))
    await unlinkIfExists(calls, join(directory, name));
  if (changed && !isNew) await removeStale(calls, directory);
  return changed;
}

/** The normalized path. Throws if it escapes the volume or collides with the names that this file uses. */
export function validPath(path: string): string {
  const fault = pathFault(path);
  if (fault !== undefined) throw new KubeletError('invalid', 'InvalidPath', `invalid path: ${fault}`);
  return normalize(path).replace(/\/$/, '');
}

function pathFault(path: string): string | undefined {
  if (path === '') return 'must not be empty: ""';
  if (path.startsWith('/')) return `must be relative path: ${path}`;
  if (path.includes('\0')) return 'must not contain a NUL';
  if (path.length > maxPathChars) return `must be less than or equal to ${maxPathChars} characters`;
  const items = path.split('/');
  if (items.includes('..')) return `must not contain '..': ${path}`;
  if (items.some((item) => Buffer.byteLength(item) > maxNameBytes))
    return `filenames must be less than or equal to ${maxNameBytes} characters`;
  if (normalize(path).startsWith('..')) return `must not start with '..': ${path}`;
  if (normalize(path) === '.' || normalize(path) === './') return `must name a file: ${path}`;
  return undefined;
}

async function publish(directory: string, files: Files, hooks: WriteContentHooks): Promise<void> {
  const { calls, isNew } = hooks;
  const name = `${stampOf(hooks.now())}${randomInt(2 ** 32)}`;
  const stamped = join(directory, name);
  await calls.createDirectory(stamped, 0o755);
  try {
    for (const parent of parentsOf(files)) await calls.createDirectory(join(stamped, parent), 0o755);
    await settleAll([...files].map(([path, file]) => calls.createFile(join(stamped, path), file)));
    await hooks.setOwnership();
    if (isNew) await calls.symlink(name, join(directory, dataName));
    else await swapData(calls, directory, name);
  } catch (err) {
    await calls.removeTree(stamped);
    throw err;
  }
}

/** The directories of the files, parents first. */
function parentsOf(files: Files): readonly string[] {
  const parents = new Set<string>();
  for (const path of files.keys())
    for (let each = dirname(path); each !== '.'; each = dirname(each)) parents.add(each);
  return [...parents].sort();
}

async function swapData(calls: FileCalls, directory: string, name: string): Promise<void> {
  // An interrupted write may have left one.
  await unlinkIfExists(calls, join(directory, newDataName));
  await calls.symlink(name, join(directory, newDataName));
  await calls.rename(join(directory, newDataName), join(directory, dataName));
}

/** `..2026_11_16_17_04_05.`; as upstream, a random number is appended to make it unique. */
function stampOf(nowMs: number): string {
  const [date = '', time = ''] = new Date(nowMs).toISOString().split('T');
  return `..${date.replaceAll('-', '_')}_${time.slice(0, 8).replaceAll(':', '_')}.`;
}

/** Files and directories of the old version that the new one lacks. */
async function removedPaths(
  calls: FileCalls,
  old: string,
  files: ReadonlyMap<string, unknown>,
): Promise<readonly string[]> {
  const wanted = new Set<string>();
  for (const path of files.keys()) for (let each = path; each !== '.'; each = dirname(each)) wanted.add(each);
  try {
    const found = await calls.namesBelow(old);
    return found.filter((path) => !wanted.has(path));
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return [];
    throw err;
  }
}

async function holds(calls: FileCalls, old: string, files: Files): Promise<boolean> {
  const same = await Promise.all(
    [...files].map(async ([path, { data }]) => {
      try {
        return await calls.holds(join(old, path), data);
      } catch (err) {
        if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(errorCode(err) ?? '')) return false;
        throw err;
      }
    }),
  );
  return same.every(Boolean);
}

async function linkVisible(
  { calls, isNew }: WriteContentHooks,
  directory: string,
  files: ReadonlyMap<string, unknown>,
): Promise<void> {
  const names = new Set([...files.keys()].map((path) => path.split('/', 1)[0] ?? path));
  if (!isNew) for (const name of await calls.names(directory)) names.delete(name);
  await settleAll(
    [...names].map(async (name) => {
      try {
        await calls.symlink(join(dataName, name), join(directory, name));
      } catch (err) {
        // A directory that is the mount point of another volume exists already.
        if (errorCode(err) !== 'EEXIST') throw err;
      }
    }),
  );
}

/** Removes the previous version, and those of interrupted writes. */
async function removeStale(calls: FileCalls, directory: string): Promise<void> {
  const current = await linkTarget(calls, join(directory, dataName));
  const stale = (await calls.names(directory)).filter((name) => stampedName.test(name) && name !== current);
  for (const name of stale) {
    const path = join(directory, name);
    if (await calls.isDirectory(path)) await calls.removeTree(path);
  }
}

async function linkTarget(calls: FileCalls, path: string): Promise<string | undefined> {
  try {
    const target = await calls.readlink(path);
    // Only the names that this file writes: a link planted by a container must not redirect reads or removals.
    return stampedName.test(target) && !target.includes('/') ? target : undefined;
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err;
  }
}

async function unlinkIfExists(calls: FileCalls, path: string): Promise<void> {
  try {
    await calls.unlink(path);
  } catch (err) {
    if (errorCode(err) !== 'ENOENT') throw err;
  }
}
