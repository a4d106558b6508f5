// The names of the cgroups pods live in, for both drivers. Pure. Upstream: pkg/kubelet/cm/{qos,pod}_container_manager_linux.go,
// cgroup_manager_linux.go. Invariant: these spellings are shared with every other kubelet and with what runs on the node.
import type { Pod } from '../api/k8s.ts';
import { podUid } from '../api/pod-ref.ts';
import { podQosClass } from '../api/qos.ts';
import { KubeletError } from '../base/errors.ts';

export type CgroupDriver = 'cgroupfs' | 'systemd';

const qosParents = { Guaranteed: [], Burstable: ['burstable'], BestEffort: ['besteffort'] } as const;

export interface CgroupNaming {
  readonly driver: CgroupDriver;
  /** cgroupRoot of the configuration; `/` or empty for the top. */
  readonly root: string;
  /** cgroupsPerQOS: without it pods have no cgroup of their own. */
  readonly perQos: boolean;
}

/** What the CRI is told: a path below a hierarchy's mount; with systemd one of slices. Empty where pods have none. */
export function podCgroupParent(pod: Pod, naming: CgroupNaming): string {
  if (!naming.perQos) return '';
  const parts = [...rootParts(naming.root), 'kubepods', ...qosParents[podQosClass(pod)], `pod${podUid(pod)}`];
  return `/${naming.driver === 'systemd' ? slicePath(parts) : parts.join('/')}`;
}

/** Every place below a hierarchy's mount where this pod's cgroup may be, whatever its class was. */
export function podCgroupPaths(uid: string, naming: CgroupNaming): readonly string[] {
  if (!naming.perQos) return [];
  // What lies there is removed: a UID must not lead elsewhere.
  if (uid === '' || /[/\0]/.test(uid)) {
    throw new KubeletError(
      'invalid',
      'InvalidPath',
      `${JSON.stringify(uid)} cannot be part of a cgroup's name`,
    );
  }
  return Object.values(qosParents).map((parents) => {
    const parts = [...rootParts(naming.root), 'kubepods', ...parents, `pod${uid}`];
    return naming.driver === 'systemd' ? slicePath(parts) : parts.join('/');
  });
}

/** `kubepods`, `burstable`, `pod1-2` → `kubepods-burstable-pod1_2.slice`. */
function sliceName(parts: readonly string[]): string {
  return `${parts.map((part) => part.replaceAll('-', '_')).join('-')}.slice`;
}

/** A slice lies within the slices its name begins with. */
function slicePath(parts: readonly string[]): string {
  return parts.map((_, index) => sliceName(parts.slice(0, index + 1))).join('/');
}

function rootParts(root: string): readonly string[] {
  return root.split('/').filter((part) => part !== '');
}
