// Finds the directories to watch so that no change of a path is missed: its own, every directory with a link on the way to it,
// and, if the path does not exist, the nearest existing one.
// Invariant: targets are resolved without following links, so that each watch is on the directory that holds the name.
import type { BigIntStats } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

export interface WatchTarget {
  /** A real directory. */
  readonly directory: string;
  /** Distinguishes a directory from its replacement, even if that reuses the inode. */
  readonly identity: string;
  /** The relevant names in it; undefined: all. */
  readonly names: ReadonlySet<string> | undefined;
  /** Whether it is the path itself, or the directory of the path if that is a file. */
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

/** Resolves the path link by link and notes every name whose change would affect it. Undefined if it does not exist. */
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

/** Identifies a directory; undefined for anything else. */
export function directoryIdentity(stats: BigIntStats): string | undefined {
  return stats.isDirectory() ? `${stats.dev}:${stats.ino}:${stats.birthtimeNs}` : undefined;
}
