// Writes the files of a volume so that a reader sees the old set or the new one, never a mixture: a new directory beside
// the old one, then one rename of the link `..data`. Upstream: pkg/volume/util/atomic_writer.go, whose layout this is.
// Invariants: what is visible changes by one rename; a write that fails or is cut short leaves the old content in sight
// and is cleared by the next one.
import { constants } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';
import type { Content, ContentFile } from '../../api/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../host/syscalls-errors.ts';

const dataName = '..data';
const newDataName = '..data_tmp';
const longestPath = 4096;
const longestName = 255;
const stampedName = /^\.\.\d{4}_/;

export interface WriteContentHooks {
  /** Whether nothing can be in the directory. */
  readonly isNew: boolean;
  readonly now: () => number;
  /** Called when the new files are written and not yet in sight. */
  readonly setOwnership: () => Promise<void>;
}

/** True when anything had to be written. */
export async function writeContent(
  directory: string,
  content: Content,
  hooks: WriteContentHooks,
): Promise<boolean> {
  const files = new Map([...content].map(([path, file]) => [checkedPath(path), file]));
  const oldName = hooks.isNew ? undefined : await linkTarget(join(directory, dataName));
  const gone = oldName === undefined ? [] : await pathsGone(join(directory, oldName), files);
  const changed = oldName === undefined || gone.length > 0 || !(await holds(join(directory, oldName), files));
  if (changed) await publish(directory, files, hooks);
  await linkVisible(directory, files);
  for (const name of gone.filter((path) => !path.includes('/'))) await unlinkIfThere(join(directory, name));
  if (changed && !hooks.isNew) await removeStale(directory);
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

async function publish(
  directory: string,
  files: ReadonlyMap<string, ContentFile>,
  hooks: WriteContentHooks,
): Promise<void> {
  const stamped = await mkdtemp(join(directory, stampOf(hooks.now())));
  try {
    await chmod(stamped, 0o755);
    for (const parent of new Set([...files.keys()].map((path) => dirname(path))))
      if (parent !== '.') await mkdir(join(stamped, parent), { recursive: true, mode: 0o755 });
    await Promise.all([...files].map(([path, file]) => writeFile(join(stamped, path), file)));
    await hooks.setOwnership();
    // One may be left behind by a write that was cut short here.
    if (!hooks.isNew) await unlinkIfThere(join(directory, newDataName));
    await symlink(basename(stamped), join(directory, newDataName));
    await rename(join(directory, newDataName), join(directory, dataName));
  } catch (err) {
    await rm(stamped, { recursive: true, force: true });
    throw err;
  }
}

async function writeFile(path: string, { data, mode, owner }: ContentFile): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode);
  try {
    await file.writeFile(data);
    // Whatever the umask is. A change of owner clears bits of the mode, so the mode comes last.
    if (owner !== undefined) await file.chown(owner, (await file.stat()).gid);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** `..2026_11_16_17_04_05.`, to which mkdtemp adds what makes it unique. */
function stampOf(nowMs: number): string {
  const [date = '', time = ''] = new Date(nowMs).toISOString().split('T');
  return `..${date.replaceAll('-', '_')}_${time.slice(0, 8).replaceAll(':', '_')}.`;
}

/** What the old version has and the new one has not, directories included. */
async function pathsGone(old: string, files: ReadonlyMap<string, unknown>): Promise<readonly string[]> {
  const wanted = new Set<string>();
  for (const path of files.keys()) for (let each = path; each !== '.'; each = dirname(each)) wanted.add(each);
  try {
    const found = await readdir(old, { recursive: true });
    return found.filter((path) => !wanted.has(path));
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return [];
    throw err;
  }
}

async function holds(old: string, files: ReadonlyMap<string, ContentFile>): Promise<boolean> {
  const same = await Promise.all(
    [...files].map(async ([path, { data }]) => {
      try {
        return (await readFile(join(old, path))).equals(data);
      } catch (err) {
        if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(errorCode(err) ?? '')) return false;
        throw err;
      }
    }),
  );
  return same.every(Boolean);
}

async function linkVisible(directory: string, files: ReadonlyMap<string, unknown>): Promise<void> {
  const names = new Set([...files.keys()].map((path) => path.split('/', 1)[0] ?? path));
  await Promise.all(
    [...names].map(async (name) => {
      try {
        await symlink(join(dataName, name), join(directory, name));
      } catch (err) {
        // There already, or a directory in which something else is mounted.
        if (errorCode(err) !== 'EEXIST') throw err;
      }
    }),
  );
}

/** Removes the version that was in sight before, and those of writes that were cut short. */
async function removeStale(directory: string): Promise<void> {
  const current = await linkTarget(join(directory, dataName));
  const stale = (await readdir(directory)).filter((name) => stampedName.test(name) && name !== current);
  for (const name of stale) {
    const path = join(directory, name);
    if ((await lstat(path)).isDirectory()) await rm(path, { recursive: true, force: true });
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    const target = await readlink(path);
    // Only ever our own: whoever put another link here does not get us to read or remove elsewhere.
    return stampedName.test(target) && !target.includes('/') ? target : undefined;
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err;
  }
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (err) {
    if (errorCode(err) !== 'ENOENT') throw err;
  }
}
