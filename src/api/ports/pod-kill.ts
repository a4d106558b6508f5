// Why a pod must end although its source still wants it. Types only: said by admission's preemption, eviction and shutdown,
// carried out by workers, told by status. Upstream: KillPodOptions and PodStatusFunc in pkg/kubelet/pod_workers.go.
import type { PodCondition } from '../k8s/types.ts';

export interface PodKill {
  /** status.reason and status.message of the Failed pod. */
  readonly reason: string;
  readonly message: string;
  /** Undefined: the pod's own grace period. */
  readonly graceSeconds?: number;
  /** For example DisruptionTarget. */
  readonly condition?: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>;
}
