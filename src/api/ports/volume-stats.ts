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
  /** The volumes that count against the limits of a pod: those of local ephemeral storage, and every emptyDir. */
  localOfPod(uid: PodUid): LocalVolumes;
}

/** Measured volume by volume, so that a slow one delays neither its pod nor others. */
export interface LocalVolumes {
  /** Settles when every figure is a few seconds old at most, which may take minutes; never rejects. */
  readonly fresh: Promise<void>;
  /** The figures known now, which may be older. A volume that was not measured or whose measurement failed is omitted. */
  latest(): readonly VolumeUsage[];
}
