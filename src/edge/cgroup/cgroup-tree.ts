// Walks and removes control groups in all hierarchies. Invariants: only directories below a hierarchy are touched; the
// kernel refuses to remove what has processes in it, and that refusal is told, never worked around here.
import { readdir, readFile, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { isGone } from './cgroup-files.ts';

/** The kernel needs a moment after the last process has ended. */
const removeTries = 5;
const firstPauseMs = 10;

export async function processesBelow(place: string): Promise<readonly number[]> {
  const found = new Set<number>();
  await visit(place, async (each) => {
    const text = await readFile(join(each, 'cgroup.procs'), 'utf8').catch((err: unknown) =>
      unlessGone(err, ''),
    );
    for (const word of text.split('\n')) if (/^[1-9]\d*$/.test(word)) found.add(Number(word));
  });
  return [...found];
}

/** Whether it is gone, by one call where nothing lies in it. Nothing is waited for. */
export async function removeIdle(place: string): Promise<boolean> {
  try {
    await rmdir(place);
    return true;
  } catch (err) {
    if (isGone(err)) return true;
    if (errorCode(err) === 'EBUSY' || errorCode(err) === 'ENOTEMPTY') return false;
    throw cannotRemove(place, err);
  }
}

/** Children first: the kernel refuses to remove a cgroup that has any. */
export async function removeBelow(place: string, clock: Pick<Clock, 'setTimer'>): Promise<void> {
  if (await removeIdle(place)) return;
  for (const child of await directoriesIn(place)) await removeBelow(join(place, child), clock);
  await removeOne(place, clock);
}

export async function directoriesIn(place: string): Promise<readonly string[]> {
  const entries = await readdir(place, { withFileTypes: true }).catch((err: unknown) => unlessGone(err, []));
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

export async function isDirectory(place: string): Promise<boolean> {
  return await stat(place).then(
    (found) => found.isDirectory(),
    (err: unknown) => unlessGone(err, false),
  );
}

async function visit(place: string, see: (place: string) => Promise<void>): Promise<void> {
  const names = await readdir(place, { withFileTypes: true }).catch((err: unknown) =>
    unlessGone(err, undefined),
  );
  if (names === undefined) return;
  await see(place);
  for (const entry of names) if (entry.isDirectory()) await visit(join(place, entry.name), see);
}

async function removeOne(place: string, clock: Pick<Clock, 'setTimer'>): Promise<void> {
  for (let attempt = 1, pauseMs = firstPauseMs; ; attempt++, pauseMs *= 2) {
    try {
      await rmdir(place);
      return;
    } catch (err) {
      if (isGone(err)) return;
      if (errorCode(err) !== 'EBUSY' || attempt === removeTries) throw cannotRemove(place, err);
      await new Promise<void>((resolve) => void clock.setTimer(pauseMs, () => resolve()));
    }
  }
}

function cannotRemove(place: string, cause: unknown): KubeletError {
  return new KubeletError('conflict', 'CgroupBusy', `cannot remove cgroup ${place}`, { cause });
}

function unlessGone<T>(err: unknown, instead: T): T {
  if (isGone(err)) return instead;
  throw err;
}
