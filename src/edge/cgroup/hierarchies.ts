// Finds where cgroups are mounted. Upstream: GetCgroupSubsystems in pkg/kubelet/cm/helpers_linux.go.
// Invariant: a machine is on v2 only if the unified hierarchy is mounted at /sys/fs/cgroup; with v2 beside v1 it is on v1.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { type MountEntry, readMountTable } from '../mount/mount-table.ts';

export type Hierarchies =
  | {
      readonly version: 1;
      readonly mountPoints: ReadonlyMap<string, string>;
      /** v2 mounted beside v1, without controllers. Runtimes create cgroups there too, which are removed with the others. */
      readonly unified?: string;
    }
  | { readonly version: 2; readonly root: string; readonly controllers: ReadonlySet<string> };

const cgroupRoot = '/sys/fs/cgroup';

/** The controllers that the kubelet uses. The kernel may lack some. */
const usedControllers: readonly string[] = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];

interface HierarchySources {
  readonly mounts: () => Promise<readonly MountEntry[]>;
  readonly readText: (path: string) => Promise<string>;
}

const kernel: HierarchySources = {
  mounts: () => readMountTable(),
  readText: (path) => readFile(path, 'utf8'),
};

export async function findHierarchies(sources: HierarchySources = kernel): Promise<Hierarchies> {
  const mounts = await sources.mounts();
  const top = mounts.findLast(({ mountPoint }) => mountPoint === cgroupRoot);
  if (top?.fsType === 'cgroup2') {
    const text = await sources.readText(join(cgroupRoot, 'cgroup.controllers'));
    const controllers = new Set(words(text).filter((each) => usedControllers.includes(each)));
    return { version: 2, root: cgroupRoot, controllers };
  }
  const mountPoints = new Map<string, string>();
  for (const { fsType, mountPoint, superOptions } of mounts) {
    if (fsType !== 'cgroup') continue;
    for (const controller of controllersOf(superOptions)) {
      const before = mountPoints.get(controller);
      // A hierarchy mounted several times is used at its shortest path.
      if (before === undefined || mountPoint.length < before.length) mountPoints.set(controller, mountPoint);
    }
  }
  if (mountPoints.size === 0)
    throw new KubeletError('unavailable', 'NoCgroups', 'no cgroup hierarchy is mounted on this machine');
  const unified = mounts.find(({ fsType }) => fsType === 'cgroup2')?.mountPoint;
  return { version: 1, mountPoints, ...(unified === undefined ? {} : { unified }) };
}

/** The mount points of all hierarchies, without duplicates. */
export function hierarchyRoots(hierarchies: Hierarchies): readonly string[] {
  if (hierarchies.version === 2) return [hierarchies.root];
  const { mountPoints, unified } = hierarchies;
  return [...new Set([...mountPoints.values(), ...(unified === undefined ? [] : [unified])])];
}

const v1Controllers: ReadonlySet<string> = new Set(
  'blkio cpu cpuacct cpuset devices freezer hugetlb memory misc net_cls net_prio perf_event pids rdma'.split(
    ' ',
  ),
);

function controllersOf(superOptions: readonly string[]): readonly string[] {
  return superOptions.flatMap((option) => {
    if (option.startsWith('name=')) return [option.slice('name='.length)];
    return v1Controllers.has(option) ? [option] : [];
  });
}

export function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
