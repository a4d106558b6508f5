// Finds which directories have to be watched so that no change of a path goes unnoticed: its own, every directory with
// a link on the way to it, and the nearest one that exists when it does not.
// Invariant: no name of a target is looked at through a link, so that each watch is on the directory that really holds it.
import type { BigIntStats } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

export interface WatchTarget {
  /** A real directory. */
  readonly directory: string;
  /** Tells a directory from another that took its place, even when that one was given the same inode. */
  readonly identity: string;
  /** Names in it that matter; undefined for all. */
  readonly names: ReadonlySet<string> | undefined;
  /** Whether it holds the path's own files: it is the path, or the directory of a single file. */
  readonly isHome: boolean;
}

const maxLinks = 40;

export async function findWatchTargets(path: string): Promise<WatchTarget[]> {
  const names = new Map<string, Set<string> | undefined>();
  const note = (directory: string, name: string): void => {
    if (names.has(directory)) names.get(directory)?.add(name);
    else names.set(directory, new Set([name]));
  };
  const real = await follow(resolve(path), note);
  let home: string | undefined;
  if (real !== undefined && (await isDirectory(real))) {
    home = real;
    names.set(real, undefined);
    for (const link of await linksIn(real)) await follow(join(real, link), note);
  } else home = await follow(dirname(resolve(path)), () => undefined);
  const targets: WatchTarget[] = [];
  for (const [directory, wanted] of names) {
    const identity = await identityOf(directory);
    if (identity !== undefined)
      targets.push({ directory, identity, names: wanted, isHome: directory === home });
  }
  return targets;
}

/** Walks the path link by link and notes each place where a change would lead elsewhere. Undefined when it leads nowhere. */
async function follow(
  path: string,
  note: (directory: string, name: string) => void,
): Promise<string | undefined> {
  let rest = path.split('/').filter((part) => part !== '');
  let at = '/';
  for (let links = 0; ; ) {
    const name = rest[0];
    if (name === undefined) break;
    rest = rest.slice(1);
    const next = join(at, name);
    const kind = await kindOf(next);
    if (kind === 'missing') {
      note(at, name);
      return undefined;
    }
    if (kind === 'link') {
      note(at, name);
      links += 1;
      const target = links > maxLinks ? undefined : await readlink(next).catch(() => undefined);
      if (target === undefined) return undefined;
      rest = [
        ...resolve(at, target)
          .split('/')
          .filter((part) => part !== ''),
        ...rest,
      ];
      at = '/';
      continue;
    }
    at = next;
  }
  note(dirname(at), basename(at));
  return at;
}

async function kindOf(path: string): Promise<'link' | 'other' | 'missing'> {
  try {
    return (await lstat(path)).isSymbolicLink() ? 'link' : 'other';
  } catch {
    return 'missing';
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return await lstat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

async function linksIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isSymbolicLink()).map((entry) => entry.name);
}

async function identityOf(directory: string): Promise<string | undefined> {
  return await lstat(directory, { bigint: true }).then(directoryIdentity, () => undefined);
}

/** Tells a directory from others; undefined for what is none. */
export function directoryIdentity(stats: BigIntStats): string | undefined {
  return stats.isDirectory() ? `${stats.dev}:${stats.ino}:${stats.birthtimeNs}` : undefined;
}
