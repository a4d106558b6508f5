// Finds the cgroups of pods and containers by listing the tree below the cgroup of all pods, independent of runtime and
// driver. Pure. Upstream: extractIDFromCgroupPath in pkg/kubelet/stats/cri_stats_provider.go.
import type { CgroupLoad, CgroupReader } from '../../api/ports/cgroup-usage.ts';

export interface CgroupPlaces {
  /** The cgroup of all pods. */
  readonly root: string;
  /** The QoS classes' cgroups, including the root, which holds the Guaranteed pods. */
  readonly classes: readonly string[];
  /** The UID of the pod whose cgroup this is; undefined if it is no pod's. */
  uidOf(path: string): string | undefined;
}

/** Paths by pod UID. */
export function findPodCgroups(
  reader: Pick<CgroupReader, 'children'>,
  places: CgroupPlaces,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const parent of places.classes) {
    for (const path of reader.children(parent)) {
      const uid = places.uidOf(path);
      if (uid !== undefined) found.set(uid, path);
    }
  }
  return found;
}

interface PodUsage {
  /** Paths by pod UID; none if pods have no cgroups of their own. */
  pods(): ReadonlyMap<string, string>;
  load(path: string): CgroupLoad | undefined;
}

/** Cheap figures of the pods and the node. */
export function podUsage(
  reader: Pick<CgroupReader, 'children' | 'load'>,
  places: CgroupPlaces | undefined,
): PodUsage {
  return {
    pods: () => (places === undefined ? new Map() : findPodCgroups(reader, places)),
    load: (path) => reader.load(path),
  };
}

/** Paths by the ID of the container or sandbox. */
export function findContainerCgroups(
  reader: Pick<CgroupReader, 'children'>,
  podPath: string,
): ReadonlyMap<string, string> {
  return new Map(reader.children(podPath).map((path) => [idOf(path), path]));
}

/** `…/<id>`, or `…/cri-containerd-<id>.scope` with the systemd driver. */
function idOf(path: string): string {
  const last = path.slice(path.lastIndexOf('/') + 1);
  if (!last.endsWith('.scope')) return last;
  const bare = last.slice(0, -'.scope'.length);
  return bare.slice(bare.lastIndexOf('-') + 1);
}
