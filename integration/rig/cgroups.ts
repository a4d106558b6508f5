// The cgroups of a rig in all mounted hierarchies of versions 1 and 2.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { identify, type ProcessId } from './process.ts';

/** The mount points of the hierarchies. */
function cgroupMounts(): readonly string[] {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return mounts
    .map((line) => line.split(' '))
    .filter((fields) => fields[2] === 'cgroup' || fields[2] === 'cgroup2')
    .map((fields) => fields[1] ?? '');
}

/** Creates the cgroup `path`, which a Go kubelet does not do for its cgroupRoot. */
export function makeCgroup(path: string): void {
  for (const mount of cgroupMounts()) mkdirSync(join(mount, path), { recursive: true });
}

/** The directories of the cgroup `path` and of all cgroups below it, deepest first. */
export function cgroupFolders(path: string): readonly string[] {
  return cgroupMounts().flatMap((mount) => foldersBelow(join(mount, path)));
}

function foldersBelow(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...below.flatMap((entry) => foldersBelow(join(dir, entry.name))), dir];
}

/** The directories of the cgroup `path` that have neither processes nor child cgroups. */
export function idleCgroups(path: string): readonly string[] {
  return cgroupMounts()
    .map((mount) => join(mount, path))
    .filter((dir) => existsSync(dir) && foldersBelow(dir).length === 1)
    .filter((dir) => readFileSync(join(dir, 'cgroup.procs'), 'utf8') === '');
}

export function processesIn(path: string): readonly ProcessId[] {
  const pids = new Set<number>();
  for (const folder of cgroupFolders(path)) {
    try {
      const procs = readFileSync(join(folder, 'cgroup.procs'), 'utf8');
      for (const line of procs.split('\n')) if (line !== '') pids.add(Number(line));
    } catch {
      // The cgroup was removed meanwhile, so it has no processes.
    }
  }
  return [...pids].map(identify).filter((id) => id !== undefined);
}

/** Removes `path` and the cgroups below it, except for those in use. */
export function removeCgroups(path: string): void {
  for (const folder of cgroupFolders(path)) {
    try {
      rmdirSync(folder);
    } catch {
      // Busy or already removed; the caller checks cgroupFolders.
    }
  }
}
