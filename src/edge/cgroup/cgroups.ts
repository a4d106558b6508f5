// The cgroups of this machine, v1 or v2, through the file system. Upstream: pkg/kubelet/cm/cgroup_manager_linux.go.
// Invariant: on a machine with both versions mounted the controllers are on v1, and v1 is used.
import { join } from 'node:path';
import type { CgroupName, CgroupSettings, Cgroups, Cpuset } from '../../api/ports/cgroups.ts';
import { settleAll } from '../../base/abort/settle-all.ts';
import type { Clock } from '../../base/clock.ts';
import { isGone, readCgroupFile } from './cgroup-files.ts';
import type { CgroupKind } from './cgroup-kind.ts';
import type { CgroupSpelling } from './cgroup-spelling.ts';
import { directoriesIn, isDirectory, processesBelow, removeIdle, removeTree } from './cgroup-tree.ts';
import { cgroupV1 } from './cgroup-v1.ts';
import { cgroupV2 } from './cgroup-v2.ts';
import { type Hierarchies, hierarchyRoots } from './hierarchies.ts';
import { killCgroup } from './kill-cgroup.ts';

export interface CgroupFsOptions {
  readonly hierarchies: Hierarchies;
  readonly spelling: CgroupSpelling;
  /** The kernel's huge page sizes, spelled as in its file names: 2MB, 1GB. */
  readonly pageSizes: readonly string[];
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly killProcess: (pid: number) => void;
}

export class CgroupFs implements Cgroups {
  readonly version: 1 | 2;
  readonly #options: CgroupFsOptions;
  readonly #kind: CgroupKind;
  readonly #roots: readonly string[];

  constructor(options: CgroupFsOptions) {
    const { hierarchies, pageSizes } = options;
    this.#options = options;
    this.version = hierarchies.version;
    this.#roots = hierarchyRoots(hierarchies);
    this.#kind =
      hierarchies.version === 1
        ? cgroupV1(hierarchies.mountPoints, pageSizes)
        : cgroupV2({ ...hierarchies, pageSizes });
  }

  path(name: CgroupName): string {
    return this.#options.spelling.path(name);
  }

  nameOf(path: string): CgroupName {
    return this.#options.spelling.nameOf(path);
  }

  async missing(name: CgroupName): Promise<string | undefined> {
    return await this.#kind.missing(this.path(name));
  }

  async exists(name: CgroupName): Promise<boolean> {
    const found = await Promise.all(this.#directories(name).map(isDirectory));
    return found.includes(true);
  }

  async create(name: CgroupName, settings: CgroupSettings): Promise<void> {
    await this.#kind.create(this.path(name), settings);
  }

  async begin(name: CgroupName, settings: CgroupSettings): Promise<void> {
    await this.#kind.begin(this.path(name), settings);
  }

  async update(name: CgroupName, settings: CgroupSettings): Promise<void> {
    await this.#kind.apply(this.path(name), settings);
  }

  async processes(name: CgroupName): Promise<readonly number[]> {
    const found = await Promise.all(this.#directories(name).map(processesBelow));
    return [...new Set(found.flat())].toSorted((a, b) => a - b);
  }

  async kill(name: CgroupName, child = ''): Promise<void> {
    if (name.length === 0) return;
    const { hierarchies, killProcess } = this.#options;
    const mount = hierarchies.version === 1 ? hierarchies.mountPoints.get('freezer') : hierarchies.root;
    const directory = mount === undefined ? undefined : join(mount, this.path(name), child);
    const freezer = directory === undefined ? undefined : { directory, version: hierarchies.version };
    await killCgroup({ all: this.#directories(name).map((each) => join(each, child)), freezer }, killProcess);
  }

  async removeIdle(name: CgroupName): Promise<boolean> {
    if (name.length === 0) return false;
    return (await Promise.all(this.#directories(name).map(removeIdle))).every((isRemoved) => isRemoved);
  }

  async remove(name: CgroupName): Promise<void> {
    if (name.length === 0) return;
    await settleAll(this.#directories(name).map((directory) => removeTree(directory, this.#options.clock)));
  }

  async children(name: CgroupName): Promise<readonly CgroupName[]> {
    const path = this.path(name);
    const found = await Promise.all(this.#directories(name).map(directoriesIn));
    return [...new Set(found.flat())].map((child) => this.nameOf(join(path, child)));
  }

  async memoryUsageBytes(name: CgroupName): Promise<bigint> {
    return await this.#kind.memoryUsageBytes(this.path(name));
  }

  async memoryLimitBytes(name: CgroupName): Promise<bigint> {
    return await this.#kind.memoryLimitBytes(this.path(name));
  }

  async cpu(name: CgroupName): ReturnType<Cgroups['cpu']> {
    return await this.#kind.cpu(this.path(name));
  }

  async cpuset(name: CgroupName, child: string): Promise<Cpuset | undefined> {
    const { hierarchies } = this.#options;
    const mount = hierarchies.version === 1 ? hierarchies.mountPoints.get('cpuset') : hierarchies.root;
    if (mount === undefined) return undefined;
    const directory = join(mount, this.path(name), child);
    try {
      const [cpus, memoryNodes] = await Promise.all([
        readCgroupFile(join(directory, 'cpuset.cpus')),
        readCgroupFile(join(directory, 'cpuset.mems')),
      ]);
      return { cpus, memoryNodes };
    } catch (err) {
      if (isGone(err)) return undefined;
      throw err;
    }
  }

  close(): void {
    // No descriptor stays open between calls.
  }

  #directories(name: CgroupName): readonly string[] {
    const path = this.path(name);
    return this.#roots.map((root) => join(root, path));
  }
}
