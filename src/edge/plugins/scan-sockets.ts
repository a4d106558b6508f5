// Finds the sockets below a directory. Upstream: traversePluginDir of pkg/kubelet/pluginmanager/pluginwatcher.
// Invariants: depth, directories, entries and sockets are bounded, whatever the directory holds; a socket that was known before
// is never lost because of these bounds or of an error; links are not followed; names with a leading dot are ignored.
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../files/pod-files.ts';
import { inspectSocket } from './inspect-socket.ts';

export interface ScanLimits {
  readonly depth: number;
  readonly directories: number;
  readonly entries: number;
  readonly sockets: number;
}

interface ScanOptions {
  readonly root: string;
  readonly limits: ScanLimits;
  readonly isKnown: (path: string) => boolean;
  readonly known: () => Iterable<string>;
  /** Called before the directory is read, so that a watch misses nothing. */
  readonly onDirectory: (path: string, identity: string) => void;
}

interface Scan {
  /** Identities by path. */
  readonly sockets: Map<string, string>;
  /** Reasons by path. */
  readonly refused: Map<string, string>;
  readonly directories: Set<string>;
  /** The limit that was exceeded, or the first error. */
  fault: unknown;
}

const mostRefused = 100;

export async function scanSockets(options: ScanOptions): Promise<Scan> {
  const scan: Scan = { sockets: new Map(), refused: new Map(), directories: new Set(), fault: undefined };
  let level = [options.root];
  let entriesLeft = options.limits.entries;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > options.limits.depth) {
      scan.fault ??= new Error(`it has more than ${options.limits.depth} levels of directories`);
      break;
    }
    const next: string[] = [];
    for (const directory of level)
      entriesLeft = await scanDirectory(options, scan, directory, entriesLeft, next);
    level = next;
  }
  if (scan.fault !== undefined) await keepKnown(options, scan);
  return scan;
}

/** Returns how many entries may still be read. */
async function scanDirectory(
  options: ScanOptions,
  scan: Scan,
  directory: string,
  entriesLeft: number,
  subdirectories: string[],
): Promise<number> {
  const { limits, onDirectory } = options;
  if (scan.directories.size >= limits.directories) {
    scan.fault ??= new Error(`it has more than ${limits.directories} directories`);
    return entriesLeft;
  }
  let left = entriesLeft;
  try {
    const stats = await lstat(directory, { bigint: true });
    if (!stats.isDirectory()) return left;
    onDirectory(directory, `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`);
    scan.directories.add(directory);
    for await (const entry of await opendir(directory, { bufferSize: 256 })) {
      left -= 1;
      if (left < 0) {
        scan.fault ??= new Error(`it has more than ${limits.entries} entries`);
        return 0;
      }
      if (entry.name.startsWith('.')) continue;
      const path = join(directory, entry.name);
      if (entry.isDirectory()) subdirectories.push(path);
      else if (entry.isSocket()) await addSocket(options, scan, path);
      else if (entry.isSymbolicLink()) refuse(scan, path, 'it is a symbolic link');
    }
  } catch (err) {
    // Removed meanwhile, unless it is the root.
    if (directory === options.root || !isMissing(err)) scan.fault ??= err;
  }
  return left;
}

async function addSocket(options: ScanOptions, scan: Scan, path: string): Promise<void> {
  const { isKnown, limits } = options;
  if (!isKnown(path) && scan.sockets.size >= limits.sockets) {
    scan.fault ??= new Error(`it has more than ${limits.sockets} sockets`);
    return;
  }
  const inspected = await inspectSocket(path);
  if (inspected.is === 'socket') scan.sockets.set(path, inspected.identity);
  else if (inspected.is === 'refused') refuse(scan, path, inspected.why);
}

function refuse(scan: Scan, path: string, why: string): void {
  if (scan.refused.size < mostRefused) scan.refused.set(path, why);
}

/** After an incomplete scan: a known socket that still exists stays. */
async function keepKnown({ known }: ScanOptions, scan: Scan): Promise<void> {
  for (const path of known()) {
    if (scan.sockets.has(path) || scan.refused.has(path)) continue;
    try {
      const inspected = await inspectSocket(path);
      if (inspected.is === 'socket') scan.sockets.set(path, inspected.identity);
    } catch {
      scan.sockets.set(path, unknownIdentity);
    }
  }
}

/** Of a known socket that could not be inspected: it counts as unchanged. */
export const unknownIdentity = '';
