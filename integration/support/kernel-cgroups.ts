// Values of cgroup files, for both versions: tests name a value, not the file of the mounted version.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findHierarchies, type Hierarchies } from '../../src/edge/cgroup/hierarchies.ts';

/** The file of version 2 by that of version 1; `cpu.max` has the period after the quota. */
const v2Names = {
  'cpu.shares': 'cpu.weight',
  'cpu.cfs_quota_us': 'cpu.max',
  'memory.limit_in_bytes': 'memory.max',
  'pids.max': 'pids.max',
} as const;

type AmountFile = keyof typeof v2Names;

/** The value in version 1 for `max`. */
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

  /** The path of a file or directory of the cgroup `path`, in the hierarchy of this controller. */
  fileOf(controller: string, path: string, name = ''): string {
    const found = this.#hierarchies;
    const mount = found.version === 2 ? found.root : (found.mountPoints.get(controller) ?? 'not mounted');
    return join(mount, path, name);
  }

  /** Unlimited is `max` in both versions; CPU is in shares on v1 and a weight on v2. */
  amount(path: string, file: AmountFile): string {
    const [controller = ''] = file.split('.');
    const name = this.version === 2 ? v2Names[file] : file;
    const [text = ''] = readFileSync(this.fileOf(controller, path, name), 'utf8')
      .trim()
      .split(' ');
    return this.version === 1 && text === unlimited[file] ? 'max' : text;
  }

  /** Selects by the mounted version. */
  either([v1, v2]: readonly [v1: string, v2: string]): string {
    return this.version === 1 ? v1 : v2;
  }
}
