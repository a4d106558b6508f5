// Decides which running containers need other CPUs than the runtime last accepted. Pure.
// Upstream: reconcileState in pkg/kubelet/cm/cpumanager/cpu_manager.go.

import type { ObservedContainer, ObservedPod } from '../../api/pod/observed.ts';
import type { ContainerId, PodUid } from '../../api/pod/pod-ref.ts';

/** Sets are texts: `0-3,8`. */
export interface CpuUpdate {
  readonly uid: PodUid;
  readonly id: ContainerId;
  readonly container: string;
  readonly cpus: string;
}

interface CpuView {
  /** The container's own CPUs, or the shared ones; empty if the runtime decides. */
  wanted(uid: PodUid, container: string): string;
  /** What the runtime last accepted for this container; undefined if unknown. */
  applied(uid: PodUid, container: ObservedContainer): string | undefined;
}

/**
 * Exited and waiting containers keep what they have. Of several containers with one name only the newest counts.
 * differs from upstream: ephemeral containers count too, so that they leave CPUs that become exclusive.
 */
export function computeCpuUpdates(pods: Iterable<ObservedPod>, view: CpuView): readonly CpuUpdate[] {
  const updates: CpuUpdate[] = [];
  for (const { containers, uid } of pods) {
    const seen = new Set<string>();
    for (const container of containers) {
      const { id, name, state } = container;
      if (seen.has(name)) continue;
      seen.add(name);
      if (state !== 'running') continue;
      const cpus = view.wanted(uid, name);
      if (cpus !== '' && view.applied(uid, container) !== cpus)
        updates.push({ uid, id, container: name, cpus });
    }
  }
  return updates;
}
