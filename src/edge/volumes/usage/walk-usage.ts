// Measures the usage of a directory with synchronous calls, for the usage thread, where this is several times as fast. It follows
// the rules of usage.ts. Invariants: each step is short, so that several trees take turns; the number of open descriptors is
// bounded, however deep the tree is; every directory is reached through its parent, so that no path is too long and no link
// swapped in concurrently is followed.
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
/** Entries per step, and per read of a directory. */
const entriesPerStep = 256;
const maxOpen = 32;
/** Memory bound for the names of pending directories, in characters. */
const maxPendingChars = 64 * 1024 * 1024;

interface Level {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly subdirectories: RawName[];
  /** Undefined while closed, because the walk is far below. */
  fd: number | undefined;
}

/** Yields after each step. return() closes all descriptors of an unfinished walk. */
export function* walkUsage(path: string): Generator<undefined, DiskUsage> {
  const root = lstatSync(path, { bigint: true });
  const count = new UsageCount(root);
  if (!root.isDirectory()) return count.total();
  const levels: Level[] = [];
  let pendingChars = 0;
  try {
    enter(levels, toRaw(path));
    pendingChars += yield* countEntries(levels, count);
    for (let current = levels.at(-1); current !== undefined; current = levels.at(-1)) {
      if (pendingChars > maxPendingChars)
        throw new KubeletError('invalid', 'TooManyDirectories', 'too many sibling directories');
      const next = current.subdirectories.pop();
      if (next === undefined) {
        leave(levels);
        continue;
      }
      pendingChars -= next.length;
      if (enter(levels, `/proc/self/fd/${current.fd}/${next}`))
        pendingChars += yield* countEntries(levels, count);
    }
    return count.total();
  } finally {
    for (const { fd } of levels) if (fd !== undefined) closeSync(fd);
  }
}

/** False if the entry is no longer a directory. */
function enter(levels: Level[], path: string): boolean {
  const fd = orGone(() => openSync(fromRaw(path), flags));
  if (fd === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  levels.push({ dev, ino, subdirectories: [], fd });
  const excess = levels.at(-1 - maxOpen);
  if (excess?.fd !== undefined) {
    closeSync(excess.fd);
    excess.fd = undefined;
  }
  return true;
}

/** Returns to the parent by `..`, only if it is the directory from which this one was entered. */
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

/** Counts the entries of the deepest directory. Returns the total length of the names of its subdirectories. */
function* countEntries(levels: readonly Level[], count: UsageCount): Generator<undefined, number> {
  const level = levels.at(-1);
  if (level === undefined) return 0;
  const self = `/proc/self/fd/${level.fd}`;
  const directory = orGone(() => opendirSync(self, { bufferSize: entriesPerStep, encoding: rawEncoding }));
  if (directory === undefined) return 0;
  let length = 0;
  let entries = 0;
  try {
    for (let name = nextName(directory); name !== undefined; name = nextName(directory)) {
      const stat = lstatOrGone(`${self}/${name}`);
      if (stat !== undefined && count.add(stat)) {
        level.subdirectories.push(name);
        length += name.length;
        if (length > maxPendingChars) break;
      }
      entries++;
      if (entries % entriesPerStep === 0) yield;
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

function orGone<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (err) {
    // ELOOP: a link has replaced the directory.
    if (isGone(err) || errorCode(err) === 'ELOOP') return undefined;
    throw err;
  }
}
