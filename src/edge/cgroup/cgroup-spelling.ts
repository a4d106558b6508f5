// How the two drivers spell the name of a cgroup as a path, and back. Pure. Upstream: ToSystemd, ToCgroupfs and their
// reverses in pkg/kubelet/cm/cgroup_manager_linux.go. Invariant: these spellings are shared with every other kubelet and
// with what runs on the node.
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

/** A name becomes a path in which things are written and removed: it must not lead elsewhere. */
function checked(name: CgroupName): CgroupName {
  for (const part of name) {
    if (part === '' || part === '.' || part === '..' || /[/\0]/.test(part))
      throw new KubeletError(
        'invalid',
        'InvalidCgroupName',
        `${JSON.stringify(part)} is no part of a cgroup's name`,
      );
  }
  return name;
}
