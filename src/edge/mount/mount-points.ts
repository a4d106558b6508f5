// Shared reads of the kernel's mount table. Invariant: a caller gets a table that was read after its call; callers that arrive
// during a read share the next one, so that a burst of pods costs a few reads instead of one each.
// A single mount of the kubelet is checked by two descriptors instead: the kernel takes some µs to print each mount of the table.
import { closeSync, constants, open, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { MountPoint, OwnFileSystem } from '../../api/ports/volume-host.ts';
import { mountIdOf } from '../volumes/descriptors.ts';
import { isGone } from '../volumes/usage/usage-count.ts';
import { parseMountTable } from './mount-table.ts';
import { loadTableReader, type ReadKernelTable } from './read-kernel-table.ts';

const openFile = promisify(open);
const openPath = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW } = constants;
const magic: Readonly<Record<OwnFileSystem, number>> = { tmpfs: 0x01021994, hugetlbfs: 0x958458f6 };
const tablePath = '/proc/self/mountinfo';

export class MountTableReader {
  readonly #path: string;
  #read: Promise<ReadKernelTable> | undefined;
  #running: Promise<string> | undefined;
  #next: Promise<string> | undefined;

  constructor(path = tablePath) {
    this.#path = path;
  }

  /** The table at the time of the call, or later. */
  read(): Promise<string> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#start();
      });
    return this.#next;
  }

  #start(): Promise<string> {
    const reading = this.#readTable().finally(() => {
      if (this.#running === reading) this.#running = undefined;
    });
    this.#running = reading;
    return reading;
  }

  async #readTable(): Promise<string> {
    this.#read ??= loadTableReader();
    return await (await this.#read)(this.#path);
  }
}

/** The mounts at and below a real path, without links. Parses only the lines that may match. */
export function mountsIn(table: string, path: string): readonly MountPoint[] {
  const escaped = ` ${path.replace(/[\s\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)}`;
  if (!table.includes(escaped)) return [];
  const lines = table.split('\n').filter((line) => line.includes(escaped));
  return parseMountTable(lines.join('\n'))
    .filter(({ mountPoint }) => `${mountPoint}/`.startsWith(`${path}/`))
    .map(({ mountPoint, fsType }) => ({ path: mountPoint, fsType }));
}

/** The other mount points of what the topmost mount on this real path has mounted. */
export function referencesIn(table: string, path: string): readonly string[] {
  const entries = parseMountTable(table);
  const own = entries.findLast(({ mountPoint }) => mountPoint === path);
  if (own === undefined) return [];
  return entries
    .filter(
      ({ device, mountPoint, root }) => device === own.device && root === own.root && mountPoint !== path,
    )
    .map(({ mountPoint }) => mountPoint);
}

/** Whether a path is a mount point of this file system type: its mount ID differs from that of its parent directory. */
export async function isMountedAs(path: string, fsType: OwnFileSystem): Promise<boolean> {
  const results = await Promise.allSettled(
    [path, dirname(path)].map((each) => openFile(each, openPath | O_DIRECTORY | O_NOFOLLOW)),
  );
  const fds = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  try {
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined && !isGone(failed.reason)) throw failed.reason;
    const [at, above] = fds;
    if (at === undefined || above === undefined) return false;
    // statfs of a file system in memory does not block.
    return mountIdOf(at) !== mountIdOf(above) && statfsSync(`/proc/self/fd/${at}`).type === magic[fsType];
  } finally {
    for (const fd of fds) closeSync(fd);
  }
}
