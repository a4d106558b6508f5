// What the node and its pods use, as narrow as who decides by it needs it: eviction, and who admits pods. Types only; stats tell it.
// Upstream: the statistics that pkg/kubelet/eviction takes from the summary.
import type { PodUid } from '../pod/pod-ref.ts';
import type { VolumeUsage } from './volume-stats.ts';

export interface DiskRoom {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface ContainerLoad {
  readonly name: string;
  readonly workingSetBytes: number | undefined;
  /** What it has written into its own layer, and its logs. */
  readonly writtenBytes: number | undefined;
  readonly writtenInodes: number | undefined;
  readonly logBytes: number;
}

export interface PodLoad {
  readonly uid: PodUid;
  readonly workingSetBytes: number | undefined;
  /** All that goes with it and lies on the node's disk. */
  readonly ephemeralBytes: number;
  readonly ephemeralInodes: number;
  readonly processes: number | undefined;
  readonly containers: readonly ContainerLoad[];
  readonly volumes: readonly VolumeUsage[];
}

/** What could not be learnt is undefined, never 0: nobody is evicted for a measurement that failed. */
export interface NodeLoad {
  readonly atMs: number;
  readonly memory:
    | { readonly capacityBytes: number; readonly workingSetBytes: number; readonly availableBytes: number }
    | undefined;
  /** Of the cgroup of all pods, where it is limited. */
  readonly podMemory: { readonly limitBytes: number; readonly workingSetBytes: number } | undefined;
  readonly nodeFs: DiskRoom | undefined;
  readonly imageFs: DiskRoom | undefined;
  readonly processes: { readonly max: number; readonly current: number } | undefined;
  readonly pods: readonly PodLoad[];
}

export interface NodeLoadSource {
  /** Measured at most `withinMs` ago; now when that is longer ago. */
  load(withinMs?: number): Promise<NodeLoad>;
}
