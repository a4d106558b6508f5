// Finds the cgroups of pods and containers by what lies below the cgroup of all pods, whatever runtime and driver made it.
// Pure. Upstream: extractIDFromCgroupPath in pkg/kubelet/stats/cri_stats_provider.go.
import type { CgroupReader } from '../../api/ports/cgroup-usage.ts';

export interface CgroupPlaces {
  /** The cgroup of all pods. */
  readonly root: string;
  /** Those of the classes in which pods lie, the root among them. */
  readonly classes: readonly string[];
  /** The UID of the pod whose cgroup this is; undefined when it is none. */
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

/** Paths by the ID of the container or sandbox. */
export function findContainerCgroups(
  reader: Pick<CgroupReader, 'children'>,
  podPath: string,
): ReadonlyMap<string, string> {
  return new Map(reader.children(podPath).map((path) => [idOf(path), path]));
}

/** `…/<id>`, or `…/cri-containerd-<id>.scope` as systemd has it. */
function idOf(path: string): string {
  const last = path.slice(path.lastIndexOf('/') + 1);
  if (!last.endsWith('.scope')) return last;
  const bare = last.slice(0, -'.scope'.length);
  return bare.slice(bare.lastIndexOf('-') + 1);
}
