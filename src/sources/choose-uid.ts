// Chooses the UID of a static pod whose manifest has none. Pure.
// differs from upstream: a pod that an earlier release started from the same manifest keeps its UID, and so its containers,
// volumes and status. Upstream's UID depends on the release, so every static pod is recreated when a release changes it.

/** UIDs as the kubelet computes them: API pods have another form. Arrays, so that they can be sent to a worker thread. */
export interface PodsOnNode {
  /** Pods with a ready sandbox or a running container. */
  readonly running: readonly string[];
  /** Pods of which anything is left: a sandbox or container in any state, or the pod's directory. */
  readonly present: readonly string[];
}

/** Whether a UID may be one that a kubelet computed for a static pod. */
export function isComputedUid(uid: string): boolean {
  return /^[0-9a-f]{32}$/.test(uid);
}

/**
 * A pod that runs keeps its UID. Otherwise a pod of which something is left does, so that one that has completed does not run
 * again. If several UIDs qualify, the newest release's wins. `earlier` is called only if the answer may depend on it.
 */
export function chooseUid(
  current: string,
  earlier: () => Iterable<string>,
  onNode: PodsOnNode | undefined,
): string {
  const running = new Set(onNode?.running);
  const present = new Set([...running, ...(onNode?.present ?? [])]);
  if (present.size === 0 || running.has(current)) return current;
  const known = [current, ...earlier()].filter((uid) => present.has(uid));
  return known.find((uid) => running.has(uid)) ?? known[0] ?? current;
}
