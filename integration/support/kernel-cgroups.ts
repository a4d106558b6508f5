// What the kernel's files say of a cgroup, whichever version is mounted: tests name an amount, not the file it lies in.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findHierarchies, type Hierarchies } from '../../src/edge/cgroup/hierarchies.ts';

/** By the file of version 1, that of version 2; `cpu.max` has the period behind the quota. */
const v2Names = {
  'cpu.shares': 'cpu.weight',
  'cpu.cfs_quota_us': 'cpu.max',
  'memory.limit_in_bytes': 'memory.max',
  'pids.max': 'pids.max',
} as const;

type AmountFile = keyof typeof v2Names;

/** What version 1 says for `max`. */
const unlimited: Readonly<Partial<Record<AmountFile, string>>> = {
  'cpu.cfs_quota_us': '-1',
  'memory.limit_in_bytes': '9223372036854771712',
};

export class KernelCgroups {
  readonly version: 1 | 2;
  readonly #hierarchies: Hierarchies;

  constructor(hierarchies: Hierarchies) {
    this.#hierarchies = hierarchies;
    this.version = hierarchies.version;
  }

  static async find(): Promise<KernelCgroups> {
    return new KernelCgroups(await findHierarchies());
  }

  /** A file or directory of the cgroup at `path`, in the hierarchy of this controller. */
  place(controller: string, path: string, name = ''): string {
    const found = this.#hierarchies;
    const mount = found.version === 2 ? found.root : (found.mountPoints.get(controller) ?? 'not mounted');
    return join(mount, path, name);
  }

  /** What is not limited is `max`, in both versions; CPU is told as it is there: in shares on v1, as a weight on v2. */
  amount(path: string, file: AmountFile): string {
    const [controller = ''] = file.split('.');
    const name = this.version === 2 ? v2Names[file] : file;
    const [text = ''] = readFileSync(this.place(controller, path, name), 'utf8')
      .trim()
      .split(' ');
    return this.version === 1 && text === unlimited[file] ? 'max' : text;
  }

  /** The one of two that the mounted version tells. */
  either([v1, v2]: readonly [v1: string, v2: string]): string {
    return this.version === 1 ? v1 : v2;
  }
}
