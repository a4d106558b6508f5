// Writes the files of a volume so that a reader sees the old set or the new one, never a mixture: a new directory beside
// the old one, then one rename of the link `..data`. Upstream: pkg/volume/util/atomic_writer.go, whose layout this is.
// Invariants: what is visible changes by one rename; a write that fails or is cut short leaves the old content in sight
// and is cleared by the next one; `..data` leads only to what is complete, with owners and modes, also in a new directory.
import { randomInt } from 'node:crypto';
import { dirname, join, normalize } from 'node:path';
import type { Content, ContentFile } from '../../api/ports/volume-host.ts';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import type { FileCalls } from './file-calls.ts';

const dataName = '..data';
const newDataName = '..data_tmp';
const longestPath = 4096;
const longestName = 255;
const stampedName = /^\.\.\d{4}_/;

interface WriteContentHooks {
  /** How the file system that the directory is in is called. */
  readonly calls: FileCalls;
  /** Whether nothing can be in the directory, and nobody looks at it. */
  readonly isNew: boolean;
  readonly now: () => number;
  /** Called when the new files are written and not yet in sight. */
  readonly setOwnership: () => Promise<void>;
}

type Files = ReadonlyMap<string, ContentFile>;

/** True when anything had to be written. */
export async function writeContent(
  directory: string,
  content: Content,
  hooks: WriteContentHooks,
): Promise<boolean> {
  const { calls, isNew } = hooks;
  const files = new Map([...content].map(([path, file]) => [checkedPath(path), file]));
  const oldName = isNew ? undefined : await linkTarget(calls, join(directory, dataName));
  const old = oldName === undefined ? undefined : join(directory, oldName);
  const gone = old === undefined ? [] : await pathsGone(calls, old, files);
  const changed = old === undefined || gone.length > 0 || !(await holds(calls, old, files));
  if (changed) await publish(directory, files, hooks);
  await linkVisible(hooks, directory, files);
  for (const name of gone.filter((path) => !path.includes('/')))
    await unlinkIfThere(calls, join(directory, name));
  if (changed && !isNew) await removeStale(calls, directory);
  return changed;
}

/** The path as it is written, or the reason why it cannot be: it has to stay in the volume and off our own names. */
export function checkedPath(path: string): string {
  const fault = pathFault(path);
  if (fault !== undefined) throw new KubeletError('invalid', 'InvalidPath', `invalid path: ${fault}`);
  return normalize(path).replace(/\/$/, '');
}

function pathFault(path: string): string | undefined {
  if (path === '') return 'must not be empty: ""';
  if (path.startsWith('/')) return `must be relative path: ${path}`;
  if (path.includes('\0')) return 'must not contain a NUL';
  if (path.length > longestPath) return `must be less than or equal to ${longestPath} characters`;
  const items = path.split('/');
  if (items.includes('..')) return `must not contain '..': ${path}`;
  if (items.some((item) => Buffer.byteLength(item) > longestName))
    return `filenames must be less than or equal to ${longestName} characters`;
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

/** The directories in which the files are, those above first. */
function parentsOf(files: Files): readonly string[] {
  const parents = new Set<string>();
  for (const path of files.keys())
    for (let each = dirname(path); each !== '.'; each = dirname(each)) parents.add(each);
  return [...parents].sort();
}

async function swapData(calls: FileCalls, directory: string, name: string): Promise<void> {
  // One may be left behind by a write that was cut short here.
  await unlinkIfThere(calls, join(directory, newDataName));
  await calls.symlink(name, join(directory, newDataName));
  await calls.rename(join(directory, newDataName), join(directory, dataName));
}

/** `..2026_11_16_17_04_05.`, to which a number is added that makes it unique, as upstream. */
function stampOf(nowMs: number): string {
  const [date = '', time = ''] = new Date(nowMs).toISOString().split('T');
  return `..${date.replaceAll('-', '_')}_${time.slice(0, 8).replaceAll(':', '_')}.`;
}

/** What the old version has and the new one has not, directories included. */
async function pathsGone(
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
        // There already: a directory in which something else is mounted.
        if (errorCode(err) !== 'EEXIST') throw err;
      }
    }),
  );
}

/** Removes the version that was in sight before, and those of writes that were cut short. */
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
    // Only ever our own: whoever put another link here does not get us to read or remove elsewhere.
    return stampedName.test(target) && !target.includes('/') ? target : undefined;
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err;
  }
}

async function unlinkIfThere(calls: FileCalls, path: string): Promise<void> {
  try {
    await calls.unlink(path);
  } catch (err) {
    if (errorCode(err) !== 'ENOENT') throw err;
  }
}
