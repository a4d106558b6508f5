// Of pods that claim one name or one UID, the first counts, so that every look at the same manifests agrees. Pure.
// Upstream: pkg/kubelet/config (filterInvalidPods).
import type { Pod } from '../api/k8s/types.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';

interface UniquePods {
  readonly pods: readonly Pod[];
  /** By origin: why a pod of it does not count. */
  readonly refused: ReadonlyMap<string, readonly string[]>;
}

/** Takes the pods of each origin (a file, a URL) in order. */
export function uniquePods(origins: Iterable<readonly [string, readonly Pod[]]>): UniquePods {
  const pods: Pod[] = [];
  const refused = new Map<string, string[]>();
  const owners = new Map<string, string>();
  for (const [origin, given] of origins)
    for (const pod of given) {
      const claims = [podRef(pod), podUid(pod)];
      const owner = claims.map((claim) => owners.get(claim)).find((each) => each !== undefined);
      if (owner === undefined) {
        for (const claim of claims) owners.set(claim, origin);
        pods.push(pod);
        continue;
      }
      const where = owner === origin ? 'above' : `in ${owner}`;
      refused.set(origin, [...(refused.get(origin) ?? []), `pod ${podRef(pod)} is already defined ${where}`]);
    }
  return { pods, refused };
}
