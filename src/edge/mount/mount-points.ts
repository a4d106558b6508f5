// The kernel's mount table for many who ask at once. Invariant: who asks gets a table that was read after the asking; those
// who ask while one is being read share the next one, so that a burst of pods costs a few reads, not one each. Where only one
// mount of the kubelet's own is asked for, it is told by two descriptors: the table comes in pieces of 4 KiB, a read for each.
import { closeSync, constants, open, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { MountPoint, OwnFileSystem } from '../../api/ports/volume-host.ts';
import { readSmallFile } from '../files/small-files.ts';
import { mountIdOf } from '../volumes/descriptors.ts';
import { isGone } from '../volumes/usage/usage-count.ts';
import { parseMountTable } from './mount-table.ts';

const openFile = promisify(open);
const openPath = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW } = constants;
const magic: Readonly<Record<OwnFileSystem, number>> = { tmpfs: 0x01021994, hugetlbfs: 0x958458f6 };
const tablePath = '/proc/self/mountinfo';
/** The kernel's own bound is 100,000 mounts, of some 200 bytes each; overlay mounts have more. */
const tableBytes = 256 * 1024 * 1024;

export class MountPoints {
  #running: Promise<string> | undefined;
  #next: Promise<string> | undefined;

  /** The table as it is now, or later. */
  read(): Promise<string> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<string> {
    const reading = readSmallFile(tablePath, { limitBytes: tableBytes }).finally(() => {
      if (this.#running === reading) this.#running = undefined;
    });
    this.#running = reading;
    return reading;
  }
}

/** The mounts at and below a path; real, as the kernel has it. Only the lines that can matter are taken apart. */
export function mountsIn(table: string, path: string): readonly MountPoint[] {
  const escaped = ` ${path.replace(/[\s\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)}`;
  if (!table.includes(escaped)) return [];
  const lines = table.split('\n').filter((line) => line.includes(escaped));
  return parseMountTable(lines.join('\n'))
    .filter(({ mountPoint }) => `${mountPoint}/`.startsWith(`${path}/`))
    .map(({ mountPoint, fsType }) => ({ path: mountPoint, fsType }));
}

/** Whether a path is a mount point, and of this kind: it is reached through another mount than the directory above. */
export async function isMountedAs(path: string, fsType: OwnFileSystem): Promise<boolean> {
  const ends = await Promise.allSettled(
    [path, dirname(path)].map((each) => openFile(each, openPath | O_DIRECTORY | O_NOFOLLOW)),
  );
  const fds = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  try {
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined && !isGone(failed.reason)) throw failed.reason;
    const [at, above] = fds;
    if (at === undefined || above === undefined) return false;
    // A file system in memory tells of itself at once.
    return mountIdOf(at) !== mountIdOf(above) && statfsSync(`/proc/self/fd/${at}`).type === magic[fsType];
  } finally {
    for (const fd of fds) closeSync(fd);
  }
}
