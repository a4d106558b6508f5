// Converts cgroup names to paths and back, for each cgroup driver. Pure. Upstream: ToSystemd, ToCgroupfs and their
// reverses in pkg/kubelet/cm/cgroup_manager_linux.go. Invariant: the paths are those of the Go kubelet, which other programs
// on the node rely on.
import type { CgroupName } from '../../api/ports/cgroups.ts';
import { KubeletError } from '../../base/errors.ts';

export interface CgroupSpelling {
  path(name: CgroupName): string;
  nameOf(path: string): CgroupName;
}

export const cgroupfsSpelling: CgroupSpelling = {
  path: (name) => `/${checked(name).join('/')}`,
  nameOf: (path) => path.split('/').filter((part) => part !== ''),
};

const suffix = '.slice';

/** `kubepods`, `burstable`, `pod1-2` → `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice`. */
export const systemdSpelling: CgroupSpelling = {
  path: (name) => {
    const escaped = checked(name).map((part) => part.replaceAll('-', '_'));
    return `/${escaped.map((_, index) => `${escaped.slice(0, index + 1).join('-')}${suffix}`).join('/')}`;
  },
  nameOf: (path) => {
    const last = path.split('/').findLast((part) => part !== '') ?? '';
    const bare = last.endsWith(suffix) ? last.slice(0, -suffix.length) : last;
    return bare === '' || bare === '-' ? [] : bare.split('-').map((part) => part.replaceAll('_', '-'));
  },
};

/** Rejects parts that would lead out of the hierarchy: files are written and removed at the path. */
function checked(name: CgroupName): CgroupName {
  for (const part of name) {
    if (part === '' || part === '.' || part === '..' || /[/\0]/.test(part))
      throw new KubeletError(
        'invalid',
        'InvalidCgroupName',
        `${JSON.stringify(part)} cannot be part of a cgroup name`,
      );
  }
  return name;
}
