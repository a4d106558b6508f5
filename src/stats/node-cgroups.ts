// Which cgroups the statistics read: those of pods, and those of the node that the summary names. Pure, but for the lookup of
// the kubelet's own cgroup. Upstream: pkg/kubelet/server/stats/summary_sys_containers.go.
import type { Cgroups } from '../api/ports/cgroups.ts';
import type { CgroupPlaces } from './collect/cgroup-places.ts';
import type { SystemCgroup } from './collect/collect-usage.ts';

/** `root`: the cgroup of all pods. */
export function podCgroupPlaces(
  root: readonly string[],
  cgroups: Pick<Cgroups, 'path' | 'nameOf'>,
): CgroupPlaces {
  return {
    root: cgroups.path(root),
    classes: [[], ['burstable'], ['besteffort']].map((parts) => cgroups.path([...root, ...parts])),
    uidOf: (path) => /^pod(.+)$/.exec(cgroups.nameOf(path).at(-1) ?? '')?.[1],
  };
}

interface SystemCgroupsInput {
  /** As the configuration names them; empty if it does not. */
  readonly kubelet: string;
  readonly runtime: string;
  readonly system: string;
  /** The cgroup of all pods; undefined if pods have no cgroups of their own. */
  readonly pods: string | undefined;
  /** The cgroup that the kubelet runs in, read each time: an init system may move the kubelet. */
  readonly ownCgroup: () => string | undefined;
  readonly startedAtMs: number;
}

/** The cgroups that the summary reports as system containers. The root cgroup is the machine, not one of them. */
export function systemCgroups(input: SystemCgroupsInput): readonly SystemCgroup[] {
  const { kubelet, ownCgroup, pods, runtime, startedAtMs, system } = input;
  const named = [
    { name: 'kubelet', path: kubelet || (ownCgroup() ?? ''), startedAtMs },
    { name: 'runtime', path: runtime },
    { name: 'misc', path: system },
    { name: 'pods', path: pods ?? '' },
  ];
  return named.filter(({ path }) => path !== '' && path !== '/');
}
