// Where the kernel has mounted its control groups. Upstream: GetCgroupSubsystems in pkg/kubelet/cm/helpers_linux.go.
// Invariant: a machine is on v2 only where the unified hierarchy lies at the usual place; one that has it beside v1 is on v1.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { type MountEntry, readMountTable } from '../mount/mount-table.ts';

export type Hierarchies =
  | {
      readonly version: 1;
      readonly mountPoints: ReadonlyMap<string, string>;
      /** v2 mounted beside v1, without controllers: runtimes make cgroups there as well, which have to go with the others. */
      readonly beside?: string;
    }
  | { readonly version: 2; readonly root: string; readonly controllers: ReadonlySet<string> };

const usualPlace = '/sys/fs/cgroup';

/** What a kubelet uses; the kernel may lack some. */
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
  const top = mounts.findLast(({ mountPoint }) => mountPoint === usualPlace);
  if (top?.fsType === 'cgroup2') {
    const text = await sources.readText(join(usualPlace, 'cgroup.controllers'));
    const controllers = new Set(words(text).filter((each) => usedControllers.includes(each)));
    return { version: 2, root: usualPlace, controllers };
  }
  const mountPoints = new Map<string, string>();
  for (const { fsType, mountPoint, superOptions } of mounts) {
    if (fsType !== 'cgroup') continue;
    for (const controller of controllersOf(superOptions)) {
      const before = mountPoints.get(controller);
      // One that is mounted several times is used at its shortest path.
      if (before === undefined || mountPoint.length < before.length) mountPoints.set(controller, mountPoint);
    }
  }
  if (mountPoints.size === 0)
    throw new KubeletError('unavailable', 'NoCgroups', 'no control groups are mounted on this machine');
  const beside = mounts.find(({ fsType }) => fsType === 'cgroup2')?.mountPoint;
  return { version: 1, mountPoints, ...(beside === undefined ? {} : { beside }) };
}

/** Every directory in which cgroups may lie, each once. */
export function hierarchyRoots(hierarchies: Hierarchies): readonly string[] {
  if (hierarchies.version === 2) return [hierarchies.root];
  const { beside, mountPoints } = hierarchies;
  return [...new Set([...mountPoints.values(), ...(beside === undefined ? [] : [beside])])];
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
