// Selects the container runtime of this process and its children: RIG_CONTAINERD=2 puts that release first in PATH.
// Without it the installed runtime is used.
import { join } from 'node:path';
import { fetchedRuntime, releases, runtimeDir } from './releases.ts';

/** The value of RIG_CONTAINERD; undefined for the installed runtime. Throws on an unknown release. */
export function selectedRelease(): string | undefined {
  const name = process.env['RIG_CONTAINERD'] ?? '';
  if (name === '') return undefined;
  if (name in releases) return name;
  throw new Error(`RIG_CONTAINERD=${name}: use one of ${Object.keys(releases).join(', ')}`);
}

export function selectRuntime(root: string): void {
  const name = selectedRelease();
  if (name === undefined) return;
  if (fetchedRuntime(root, name) === undefined)
    throw new Error(`containerd ${name} is not in .cache/runtimes; run 'make runtimes'`);
  const bin = join(runtimeDir(root, name), 'bin');
  const path = process.env['PATH'] ?? '';
  if (!path.split(':').includes(bin)) process.env['PATH'] = `${bin}:${path}`;
}
