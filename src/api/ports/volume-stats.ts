// What volumes use, for the node's summary and for eviction. Types only; volumes tell it.
// Upstream: pkg/kubelet/server/stats/volume_stat_calculator.go and the VolumeStats of the stats API.
import type { PodUid } from '../pod/pod-ref.ts';

export interface VolumeUsage {
  /** As the pod names it. */
  readonly name: string;
  readonly claim: { readonly namespace: string; readonly name: string } | undefined;
  /** Whether it counts towards the pod's local ephemeral storage: on the node's disk and gone with the pod. */
  readonly isLocalEphemeral: boolean;
  /** An emptyDir's own bound; more than that, and the pod is to be evicted. */
  readonly sizeLimitBytes: bigint | undefined;
  readonly measuredAtMs: number;
  readonly usedBytes: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodesUsed: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface VolumeStatsSource {
  /** As measured lately; measures anew when that is too long ago. A volume that cannot be measured is left out. */
  ofPod(uid: PodUid, signal: AbortSignal): Promise<readonly VolumeUsage[]>;
}
