// Cgroups as systemd slices: systemd creates and owns them; settings without a unit property are written to their files.
// Upstream: libcontainer's systemd/v1.go and v2.go. Invariant: every cgroup except the root is a slice that systemd knows,
// otherwise systemd could remove it.
import type { CgroupName, CgroupSettings, Cgroups } from '../../api/ports/cgroups.ts';
import type { UnitProperty } from '../systemd/unit-properties.ts';
import { newSliceProperties, resourceProperties } from '../systemd/unit-properties.ts';

interface Units {
  version(): Promise<number>;
  start(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  set(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  stop(unit: string): Promise<void>;
  close(): void;
}

const rootSlice = '-.slice';

export function systemdCgroups(files: Cgroups, units: Units): Cgroups {
  const set = async (name: CgroupName, settings: CgroupSettings): Promise<void> => {
    const target = { cgroupVersion: files.version, systemdVersion: await units.version() };
    await units.set(unitOf(files, name), resourceProperties(settings, target));
  };
  const create = async (name: CgroupName, settings: CgroupSettings): Promise<void> => {
    if (name.length > 0) {
      const unit = unitOf(files, name);
      const parent = name.length === 1 ? rootSlice : unitOf(files, name.slice(0, -1));
      await units.start(unit, newSliceProperties(unit, parent, files.version));
      await set(name, settings);
    }
    await files.create(name, settings);
  };
  return {
    version: files.version,
    path: (name) => files.path(name),
    nameOf: (path) => files.nameOf(path),
    missing: (name) => files.missing(name),
    create,
    // systemd always creates a slice in every hierarchy that it manages.
    begin: create,
    update: async (name, settings) => {
      if (name.length > 0) await set(name, settings);
      await files.update(name, settings);
    },
    processes: (name) => files.processes(name),
    kill: (name, child) => files.kill(name, child),
    removeIdle: async (name) => {
      if (!(await files.exists(name))) return true;
      if ((await files.processes(name)).length > 0) return false;
      await units.stop(unitOf(files, name));
      return await files.removeIdle(name);
    },
    remove: async (name) => {
      if (name.length === 0) return;
      await units.stop(unitOf(files, name));
      // systemd leaves descendants that it did not create.
      await files.remove(name);
    },
    exists: (name) => files.exists(name),
    children: (name) => files.children(name),
    memoryUsageBytes: (name) => files.memoryUsageBytes(name),
    memoryLimitBytes: (name) => files.memoryLimitBytes(name),
    cpu: (name) => files.cpu(name),
    cpuset: (name, child) => files.cpuset(name, child),
    close: () => units.close(),
  };
}

/** The last part of its path: `kubepods-burstable-pod1_2.slice`. */
function unitOf(files: Cgroups, name: CgroupName): string {
  const path = files.path(name);
  return path.slice(path.lastIndexOf('/') + 1);
}
