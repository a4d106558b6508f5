// The container runtimes of a test run: containerd's release, and the Debian suite that has it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface RuntimeRelease {
  readonly suite: string;
  /** How the version of its containerd begins. */
  readonly version: string;
}

export const releases: Readonly<Record<string, RuntimeRelease>> = {
  '1.7': { suite: 'trixie', version: '1.7.' },
  '2': { suite: 'forky', version: '2.' },
};

/** What a complete directory of the cache contains. */
export interface FetchedRuntime {
  /** Where it was unpacked: runc has this path in it. */
  readonly dir: string;
  readonly packages: Readonly<Record<string, string>>;
}

export function runtimeDir(root: string, name: string): string {
  return join(root, '.cache', 'runtimes', name);
}

/** Undefined if the cache has no such runtime, or one that was moved since. */
export function fetchedRuntime(root: string, name: string): FetchedRuntime | undefined {
  const dir = runtimeDir(root, name);
  const file = join(dir, 'runtime.json');
  if (!existsSync(file)) return undefined;
  const fetched = JSON.parse(readFileSync(file, 'utf8')) as FetchedRuntime;
  return fetched.dir === dir ? fetched : undefined;
}
