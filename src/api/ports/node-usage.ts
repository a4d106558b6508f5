// Usage of the node and its pods, reduced to what eviction and admission need. Types only; stats/ provides it.
// Upstream: the part of the summary that pkg/kubelet/eviction reads.
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
  /** Of its writable layer. */
  readonly writtenBytes: number | undefined;
  readonly writtenInodes: number | undefined;
  readonly logBytes: number;
}

export interface PodLoad {
  readonly uid: PodUid;
  readonly workingSetBytes: number | undefined;
  /** Local ephemeral storage: writable layers, logs and local volumes. */
  readonly ephemeralBytes: number;
  readonly ephemeralInodes: number;
  readonly processes: number | undefined;
  readonly containers: readonly ContainerLoad[];
  readonly volumes: readonly VolumeUsage[];
}

/** A failed measurement is undefined, never 0, so that it evicts no pod. */
export interface NodeLoad {
  readonly atMs: number;
  readonly memory:
    | { readonly capacityBytes: number; readonly workingSetBytes: number; readonly availableBytes: number }
    | undefined;
  /** Of the cgroup of all pods, if it is limited. */
  readonly podMemory: { readonly limitBytes: number; readonly workingSetBytes: number } | undefined;
  readonly nodeFs: DiskRoom | undefined;
  readonly imageFs: DiskRoom | undefined;
  readonly processes: { readonly max: number; readonly current: number } | undefined;
  readonly pods: readonly PodLoad[];
}

export interface NodeLoadSource {
  /** Figures that are at most `withinMs` old; measures if there are none. */
  load(withinMs?: number): Promise<NodeLoad>;
}
