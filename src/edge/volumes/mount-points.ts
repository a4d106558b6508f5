// The kernel's mount table for many who ask at once. Invariant: who asks gets a table that was read after the asking; those
// who ask while one is being read share the next one, so that a burst of pods costs a few reads, not one each.
import type { MountPoint } from '../../api/volume-host.ts';
import { parseMountTable } from '../host/mount-table.ts';
import { readSmallFile } from '../host/small-files.ts';

const tablePath = '/proc/self/mountinfo';

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
    const reading = readSmallFile(tablePath).finally(() => {
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
