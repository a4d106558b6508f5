// Volume usage, for the summary and for eviction. Types only; volumes/ provides it.
// Upstream: pkg/kubelet/server/stats/volume_stat_calculator.go and the VolumeStats of the stats API.
import type { PodUid } from '../pod/pod-ref.ts';

export interface VolumeUsage {
  /** The name in the pod spec. */
  readonly name: string;
  readonly claim: { readonly namespace: string; readonly name: string } | undefined;
  /** Whether it counts as local ephemeral storage: on the node's disk and removed with the pod. */
  readonly isLocalEphemeral: boolean;
  /** The sizeLimit of an emptyDir. A pod that exceeds it is evicted. */
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
  /** Cached figures, refreshed when they are too old. A volume that cannot be measured is omitted. */
  ofPod(uid: PodUid, signal: AbortSignal): Promise<readonly VolumeUsage[]>;
}
