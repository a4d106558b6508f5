// Usage of the node and its pods, reduced to what eviction and admission need. Types only; stats/ provides it.
// Upstream: the part of the summary that pkg/kubelet/eviction reads.
import type { PodUid } from '../pod/pod-ref.ts';
import type { VolumeUsage } from './volume-stats.ts';

export interface DiskRoom {
  /** When it was measured, by the wall clock: figures of the runtime may be older than the request. */
  readonly atMs: number;
  /** Equal for two paths on the same file system. */
  readonly device: string;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface MemoryRoom {
  /** When it was read, by the wall clock. */
  readonly atMs: number;
  /** The memory of the machine, or the limit of the cgroup of all pods; without huge pages. */
  readonly capacityBytes: number;
  readonly usageBytes: number;
  /** Usage without inactive file pages. */
  readonly workingSetBytes: number;
  /** Capacity without the working set; never negative. */
  readonly availableBytes: number;
}

export interface ContainerLoad {
  readonly name: string;
  readonly workingSetBytes: number | undefined;
  /** Of its writable layer. */
  readonly writtenBytes: number | undefined;
  readonly writtenInodes: number | undefined;
  readonly logBytes: number;
  readonly logInodes: number;
}

export interface PodLoad {
  readonly uid: PodUid;
  readonly workingSetBytes: number | undefined;
  /** Local ephemeral storage: writable layers, logs, local volumes, hosts file. Undefined if it was not measured. */
  readonly ephemeralBytes: number | undefined;
  readonly ephemeralInodes: number | undefined;
  /** Processes and threads of the pod's cgroup, including nested cgroups. */
  readonly processes: number | undefined;
  readonly containers: readonly ContainerLoad[];
  readonly volumes: readonly VolumeUsage[];
}

/** The figures behind the eviction signals. A failed measurement is undefined, never 0, so that it evicts no pod. */
export interface NodeSignals {
  readonly memory: MemoryRoom | undefined;
  /** MemAvailable of /proc/meminfo: the kernel's own estimate, which counts the page cache as available. */
  readonly kernelAvailableBytes: number | undefined;
  /** Of the cgroup of all pods, if it is limited. */
  readonly podMemory: MemoryRoom | undefined;
  readonly nodeFs: DiskRoom | undefined;
  readonly imageFs: DiskRoom | undefined;
  /** The file system of writable layers; the same object as imageFs if the runtime does not separate them. */
  readonly containerFs: DiskRoom | undefined;
  readonly processes: { readonly atMs: number; readonly max: number; readonly current: number } | undefined;
}

export interface NodeLoadSource {
  /** Every part is read now, within its own deadline: a hung file system or runtime costs only its own part. */
  signals(signal: AbortSignal): Promise<NodeSignals>;
  /** From the kernel, synchronously; cheap enough for several calls per second. */
  memory(): Pick<NodeSignals, 'memory' | 'kernelAvailableBytes' | 'podMemory'>;
  /**
   * Usage of the pods with running containers, read now. Without `disk`, only memory and processes from the cgroups.
   * `only`: just these pods. A pod without statistics is omitted.
   */
  pods(
    request: { readonly disk: boolean; readonly only?: ReadonlySet<PodUid> },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<PodUid, PodLoad>>;
}
