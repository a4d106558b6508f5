// The termination of a pod that its source still wants. Types only: requested by preemption, eviction and node shutdown,
// executed by workers, reported by status. Upstream: KillPodOptions and PodStatusFunc in pkg/kubelet/pod_workers.go.
import type { PodCondition } from '../k8s/types.ts';

export interface PodKill {
  /** status.reason and status.message of the Failed pod. */
  readonly reason: string;
  readonly message: string;
  /** Default: the pod's own grace period. */
  readonly graceSeconds?: number;
  /** For example DisruptionTarget. */
  readonly condition?: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>;
  /** The pod was evicted: its dead containers and logs may be removed although the API server still has the pod. */
  readonly evicted?: true;
  /** The rule that fired and the figures at that moment, for /explain/history. Contains nothing secret. */
  readonly evidence?: KillEvidence;
}

interface KillEvidence {
  /** Such as `memory.available<100Mi`. */
  readonly rule: string;
  readonly figures: Readonly<Record<string, string | number>>;
}
