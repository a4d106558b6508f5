// The names of the cgroups of pods and containers. Pure. Upstream: GetPodContainerName in pkg/kubelet/cm/pod_container_manager_linux.go.
import type { CgroupName } from '../../api/ports/cgroups.ts';
import { KubeletError } from '../../base/errors.ts';

type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const classes: Readonly<Record<QosClass, readonly string[]>> = {
  Guaranteed: [],
  Burstable: ['burstable'],
  BestEffort: ['besteffort'],
};
const prefix = 'pod';

/** `root` is the cgroup of all pods. */
export function podCgroupName(root: CgroupName, qos: QosClass, uid: string): CgroupName {
  return [...root, ...classes[qos], `${prefix}${uid}`];
}

/** The cgroup of each QoS class. */
export function podCgroupParents(root: CgroupName): readonly CgroupName[] {
  return Object.values(classes).map((parents) => [...root, ...parents]);
}

/** The pod's cgroup in each QoS class. */
export function possiblePodCgroups(root: CgroupName, uid: string): readonly CgroupName[] {
  if (uid === '' || /[/\0]/.test(uid))
    throw new KubeletError(
      'invalid',
      'InvalidPath',
      `${JSON.stringify(uid)} cannot be part of a cgroup name`,
    );
  return Object.keys(classes).map((qos) => podCgroupName(root, qos as QosClass, uid));
}

/** Undefined if it is not the cgroup of a pod. */
export function podUidOf(name: CgroupName): string | undefined {
  const last = name.at(-1) ?? '';
  return last.startsWith(prefix) && last.length > prefix.length ? last.slice(prefix.length) : undefined;
}

/** The names that runtimes give to a container's cgroup below that of its pod. */
export function containerCgroupNames(containerId: string): readonly string[] {
  if (!/^[\w.-]+$/.test(containerId) || /^\.+$/.test(containerId))
    throw new KubeletError('invalid', 'InvalidPath', `${JSON.stringify(containerId)} is not a container ID`);
  return [containerId, `cri-containerd-${containerId}.scope`, `crio-${containerId}.scope`];
}
