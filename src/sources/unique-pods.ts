// Drops pods with the name or UID of an earlier one, so that every scan of the same manifests agrees. Pure.
// Upstream: pkg/kubelet/config (filterInvalidPods).
import type { Pod } from '../api/k8s/types.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';

interface UniquePods {
  readonly pods: readonly Pod[];
  /** By origin: why its pods were dropped. */
  readonly rejected: ReadonlyMap<string, readonly string[]>;
}

/** Visits the pods of each origin (a file or URL) in order. */
export function uniquePods(origins: Iterable<readonly [string, readonly Pod[]]>): UniquePods {
  const pods: Pod[] = [];
  const rejected = new Map<string, string[]>();
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
      rejected.set(origin, [
        ...(rejected.get(origin) ?? []),
        `pod ${podRef(pod)} is already defined ${where}`,
      ]);
    }
  return { pods, rejected };
}
