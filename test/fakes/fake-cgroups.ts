// Cgroups in memory: their settings and processes.
// Invariant: as in the kernel, a cgroup with processes in it or below it cannot be removed, and a missing one cannot be
// written.
import type { CgroupName, CgroupSettings, Cgroups, Cpuset } from '../../src/api/ports/cgroups.ts';
import { KubeletError } from '../../src/base/errors.ts';

interface FakeCgroup {
  settings: CgroupSettings;
  readonly pids: Set<number>;
}

export class FakeCgroups implements Cgroups {
  version: 1 | 2 = 1;
  readonly groups = new Map<string, FakeCgroup>();
  /** Every change, in order: `update /kubepods`. */
  readonly calls: string[] = [];
  usageBytes = 0n;
  /** Thrown by the next update of this path. */
  readonly faults = new Map<string, KubeletError>();

  path(name: CgroupName): string {
    return `/${name.join('/')}`;
  }

  nameOf(path: string): CgroupName {
    return path.split('/').filter((part) => part !== '');
  }

  settings(path: string): CgroupSettings | undefined {
    return this.groups.get(path)?.settings;
  }

  /** Puts a process into a cgroup, which is created if missing. */
  enter(path: string, pid: number): void {
    this.#make(path).pids.add(pid);
  }

  /** The killed processes, in order. */
  readonly killed: number[] = [];
  /** Processes that survive a kill. */
  readonly immortal = new Set<number>();

  async kill(name: CgroupName, child?: string): Promise<void> {
    for (const pid of this.#processes(name, child)) {
      if (this.immortal.has(pid)) continue;
      this.killed.push(pid);
      for (const group of this.groups.values()) group.pids.delete(pid);
    }
  }

  async removeIdle(name: CgroupName): Promise<boolean> {
    const within = this.#within(this.path(name));
    if (within.length > 1 || within.some(([, { pids }]) => pids.size > 0)) return false;
    await this.remove(name);
    return true;
  }

  async missing(name: CgroupName): Promise<string | undefined> {
    return this.groups.has(this.path(name)) ? undefined : `missing paths: ${this.path(name)}`;
  }

  async exists(name: CgroupName): Promise<boolean> {
    return this.groups.has(this.path(name));
  }

  close(): void {
    this.calls.push('close');
  }

  async create(name: CgroupName, settings: CgroupSettings): Promise<void> {
    for (let count = 1; count <= name.length; count++) this.#make(this.path(name.slice(0, count)));
    this.calls.push(`create ${this.path(name)}`);
    this.#apply(name, settings);
  }

  async begin(name: CgroupName, settings: CgroupSettings): Promise<void> {
    await this.create(name, settings);
  }

  async update(name: CgroupName, settings: CgroupSettings): Promise<void> {
    this.calls.push(`update ${this.path(name)}`);
    this.#apply(name, settings);
  }

  async processes(name: CgroupName): Promise<readonly number[]> {
    return this.#processes(name);
  }

  #processes(name: CgroupName, child?: string): readonly number[] {
    const top = child === undefined ? this.path(name) : `${this.path(name)}/${child}`;
    return this.#within(top).flatMap(([, { pids }]) => [...pids]);
  }

  async remove(name: CgroupName): Promise<void> {
    const within = this.#within(this.path(name));
    if (within.some(([, { pids }]) => pids.size > 0))
      throw new KubeletError('conflict', 'CgroupBusy', `cannot remove cgroup ${this.path(name)}`);
    for (const [path] of within) this.groups.delete(path);
    if (within.length > 0) this.calls.push(`remove ${this.path(name)}`);
  }

  async children(name: CgroupName): Promise<readonly CgroupName[]> {
    const depth = name.length + 1;
    const within = this.#within(this.path(name)).map(([path]) => this.nameOf(path));
    return within.filter((each) => each.length === depth);
  }

  async memoryUsageBytes(): Promise<bigint> {
    return this.usageBytes;
  }

  async memoryLimitBytes(name: CgroupName): Promise<bigint> {
    return this.settings(this.path(name))?.memoryLimitBytes ?? -1n;
  }

  async cpu(name: CgroupName): ReturnType<Cgroups['cpu']> {
    const {
      cpuShares = 1024n,
      cpuQuotaUs = -1n,
      cpuPeriodUs = 100_000n,
    } = this.settings(this.path(name)) ?? {};
    return { cpuShares, cpuQuotaUs, cpuPeriodUs };
  }

  /** By path of the child. */
  readonly cpusets = new Map<string, Cpuset>();

  async cpuset(name: CgroupName, child: string): Promise<Cpuset | undefined> {
    return this.cpusets.get(`${this.path(name)}/${child}`);
  }

  #make(path: string): FakeCgroup {
    const group = this.groups.get(path) ?? { settings: {}, pids: new Set<number>() };
    this.groups.set(path, group);
    return group;
  }

  #apply(name: CgroupName, settings: CgroupSettings): void {
    const path = this.path(name);
    const fault = this.faults.get(path);
    if (fault !== undefined) {
      this.faults.delete(path);
      throw fault;
    }
    const group = this.groups.get(path);
    if (group === undefined) throw new KubeletError('not-found', 'ENOENT', `cannot write to ${path}`);
    group.settings = { ...group.settings, ...settings };
  }

  #within(top: string): readonly (readonly [string, FakeCgroup])[] {
    return [...this.groups].filter(([path]) => path === top || path.startsWith(`${top}/`));
  }
}
