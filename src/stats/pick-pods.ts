// Selects the pods and containers to report statistics of. Pure. Upstream: removeTerminatedPods and
// removeTerminatedContainers in pkg/kubelet/stats/cri_stats_provider.go.
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../api/pod/observed.ts';

export interface PickedPod {
  readonly pod: ObservedPod;
  readonly sandbox: ObservedSandbox;
  /** Running, oldest first. */
  readonly containers: readonly ObservedContainer[];
}

/**
 * Pods with a running container, oldest first. If several sandboxes share a name, because the sandbox or its pod was recreated,
 * only the ready ones count; if none is ready, the newest.
 */
export function pickPods(observed: Iterable<ObservedPod>): readonly PickedPod[] {
  const byName = new Map<string, { readonly pod: ObservedPod; readonly sandbox: ObservedSandbox }[]>();
  for (const pod of observed) {
    const name = `${pod.namespace}/${pod.name}`;
    const existing = byName.get(name) ?? [];
    existing.push(...pod.sandboxes.map((sandbox) => ({ pod, sandbox })));
    byName.set(name, existing);
  }
  return [...byName.values()]
    .flatMap((same) => current(same))
    .map(({ pod, sandbox }) => ({ pod, sandbox, containers: runningIn(pod, sandbox) }))
    .filter(({ containers }) => containers.length > 0)
    .toSorted((a, b) => a.sandbox.createdAtMs - b.sandbox.createdAtMs);
}

function current<T extends { readonly sandbox: ObservedSandbox }>(same: readonly T[]): readonly T[] {
  if (same.length <= 1) return same;
  const ready = same.filter(({ sandbox }) => sandbox.ready);
  if (ready.length > 0) return ready;
  return same.toSorted((a, b) => b.sandbox.createdAtMs - a.sandbox.createdAtMs).slice(0, 1);
}

function runningIn(pod: ObservedPod, { id }: ObservedSandbox): readonly ObservedContainer[] {
  return pod.containers
    .filter(({ sandboxId, state }) => sandboxId === id && state === 'running')
    .toSorted((a, b) => a.createdAtMs - b.createdAtMs);
}
