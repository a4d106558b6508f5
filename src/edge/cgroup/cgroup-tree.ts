// Walks and removes cgroup directories. Invariants: only directories below a hierarchy are touched; a cgroup with processes is
// never removed, the kernel's EBUSY is reported to the caller.
import { readdir, readFile, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { isGone } from './cgroup-files.ts';

/** The kernel keeps a cgroup busy for a moment after its last process has ended. */
const maxRemoveAttempts = 5;
const firstPauseMs = 10;

export async function processesBelow(directory: string): Promise<readonly number[]> {
  const found = new Set<number>();
  await visit(directory, async (each) => {
    const text = await readFile(join(each, 'cgroup.procs'), 'utf8').catch((err: unknown) =>
      unlessGone(err, ''),
    );
    for (const word of text.split('\n')) if (/^[1-9]\d*$/.test(word)) found.add(Number(word));
  });
  return [...found];
}

/** Removes a cgroup without processes and children, without waiting. Returns whether it no longer exists. */
export async function removeIdle(directory: string): Promise<boolean> {
  try {
    await rmdir(directory);
    return true;
  } catch (err) {
    if (isGone(err)) return true;
    if (errorCode(err) === 'EBUSY' || errorCode(err) === 'ENOTEMPTY') return false;
    throw cannotRemove(directory, err);
  }
}

/** Removes children first: the kernel does not remove a cgroup that has any. */
export async function removeTree(directory: string, clock: Pick<Clock, 'setTimer'>): Promise<void> {
  if (await removeIdle(directory)) return;
  for (const child of await directoriesIn(directory)) await removeTree(join(directory, child), clock);
  await removeOne(directory, clock);
}

export async function directoriesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((err: unknown) =>
    unlessGone(err, []),
  );
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

export async function isDirectory(directory: string): Promise<boolean> {
  return await stat(directory).then(
    (found) => found.isDirectory(),
    (err: unknown) => unlessGone(err, false),
  );
}

async function visit(directory: string, visitor: (directory: string) => Promise<void>): Promise<void> {
  const names = await readdir(directory, { withFileTypes: true }).catch((err: unknown) =>
    unlessGone(err, undefined),
  );
  if (names === undefined) return;
  await visitor(directory);
  for (const entry of names) if (entry.isDirectory()) await visit(join(directory, entry.name), visitor);
}

async function removeOne(directory: string, clock: Pick<Clock, 'setTimer'>): Promise<void> {
  for (let attempt = 1, pauseMs = firstPauseMs; ; attempt++, pauseMs *= 2) {
    try {
      await rmdir(directory);
      return;
    } catch (err) {
      if (isGone(err)) return;
      if (errorCode(err) !== 'EBUSY' || attempt === maxRemoveAttempts) throw cannotRemove(directory, err);
      await new Promise<void>((resolve) => void clock.setTimer(pauseMs, () => resolve()));
    }
  }
}

function cannotRemove(directory: string, cause: unknown): KubeletError {
  return new KubeletError('conflict', 'CgroupBusy', `cannot remove cgroup ${directory}`, { cause });
}

function unlessGone<T>(err: unknown, fallback: T): T {
  if (isGone(err)) return fallback;
  throw err;
}
