// How much a directory holds, counted without the event loop: for a thread of its own, where it is several times as fast. The
// rules are those of usage.ts. Invariants: a step is short, so that several trees are counted in turn; the open descriptors are
// few, however deep the tree is; every directory is reached through the one above it, so that no path is too long, and no link
// that is swapped in is followed.
import {
  type BigIntStats,
  closeSync,
  constants,
  type Dir,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
} from 'node:fs';
import type { DiskUsage } from '../../../api/ports/volume-host.ts';
import { KubeletError } from '../../../base/errors.ts';
import { errorCode } from '../../syscalls/syscalls-errors.ts';
import { fromRaw, type RawName, rawEncoding, rawName, toRaw } from '../raw-names.ts';
import { isGone, UsageCount } from './usage-count.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Of one step, and of one read of a directory. */
const entriesAtOnce = 256;
const mostOpen = 32;
/** Names of directories that are still to be entered, in characters. No volume makes the thread keep more. */
const mostRemembered = 64 * 1024 * 1024;

interface Level {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly subdirectories: RawName[];
  /** Undefined while the walk is so far below that it was closed. */
  fd: number | undefined;
}

/** Yields after each step. Closes what it opened also when it is not finished, by return(). */
export function* walkUsage(path: string): Generator<undefined, DiskUsage> {
  const root = lstatSync(path, { bigint: true });
  const count = new UsageCount(root);
  if (!root.isDirectory()) return count.total();
  const levels: Level[] = [];
  let remembered = 0;
  try {
    enter(levels, toRaw(path));
    remembered += yield* countEntries(levels, count);
    for (let current = levels.at(-1); current !== undefined; current = levels.at(-1)) {
      if (remembered > mostRemembered)
        throw new KubeletError('invalid', 'TooManyDirectories', 'too many directories beside each other');
      const next = current.subdirectories.pop();
      if (next === undefined) {
        leave(levels);
        continue;
      }
      remembered -= next.length;
      if (enter(levels, `/proc/self/fd/${current.fd}/${next}`))
        remembered += yield* countEntries(levels, count);
    }
    return count.total();
  } finally {
    for (const { fd } of levels) if (fd !== undefined) closeSync(fd);
  }
}

/** False when it is no directory any more. */
function enter(levels: Level[], path: string): boolean {
  const fd = orGone(() => openSync(fromRaw(path), flags));
  if (fd === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  levels.push({ dev, ino, subdirectories: [], fd });
  const tooMany = levels.at(-1 - mostOpen);
  if (tooMany?.fd !== undefined) {
    closeSync(tooMany.fd);
    tooMany.fd = undefined;
  }
  return true;
}

/** Back up: by `..`, and only to the directory from which this one was entered. */
function leave(levels: Level[]): void {
  const child = levels.at(-1);
  const parent = levels.at(-2);
  if (child?.fd === undefined) throw new Error('the directory is not open');
  if (parent !== undefined && parent.fd === undefined) {
    const fd = openSync(`/proc/self/fd/${child.fd}/..`, flags);
    parent.fd = fd;
    const { dev, ino } = fstatSync(fd, { bigint: true });
    if (dev !== parent.dev || ino !== parent.ino)
      throw new KubeletError('conflict', 'Moved', 'a directory was moved while it was measured');
  }
  levels.pop();
  closeSync(child.fd);
}

/** Counts the entries of the deepest directory. How long the names of those are that are to be entered. */
function* countEntries(levels: readonly Level[], count: UsageCount): Generator<undefined, number> {
  const level = levels.at(-1);
  if (level === undefined) return 0;
  const self = `/proc/self/fd/${level.fd}`;
  const directory = orGone(() => opendirSync(self, { bufferSize: entriesAtOnce, encoding: rawEncoding }));
  if (directory === undefined) return 0;
  let length = 0;
  let entries = 0;
  try {
    for (let name = nextName(directory); name !== undefined; name = nextName(directory)) {
      const stat = lstatOrGone(`${self}/${name}`);
      if (stat !== undefined && count.add(stat)) {
        level.subdirectories.push(name);
        length += name.length;
        if (length > mostRemembered) break;
      }
      entries++;
      if (entries % entriesAtOnce === 0) yield;
    }
  } finally {
    directory.closeSync();
  }
  yield;
  return length;
}

function nextName(directory: Dir): RawName | undefined {
  const entry = directory.readSync();
  return entry === null ? undefined : rawName(entry);
}

function lstatOrGone(path: string): BigIntStats | undefined {
  return orGone(() => lstatSync(fromRaw(path), { bigint: true }));
}

function orGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (err) {
    // A link in place of a directory: that one is gone as well.
    if (isGone(err) || errorCode(err) === 'ELOOP') return undefined;
    throw err;
  }
}
