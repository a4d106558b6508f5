// Usage of the machine and its processes. Types only; edge/stats reads it. Upstream: cadvisor's machine, fs and
// libcontainer packages, pkg/kubelet/stats/pidlimit.
import type { FileSystemSpace } from './volume-host.ts';

export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** Open descriptors of one or several processes. */
export interface ProcessDetails {
  readonly descriptors: number;
  readonly sockets: number;
}

export interface DiskCounters {
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inProgress: number;
  readonly ioMs: number;
  readonly weightedMs: number;
}

/** A file system on a device of this machine. */
export interface DeviceFileSystem {
  readonly device: string;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly disk: DiskCounters | undefined;
}

export interface TaskCounts {
  /** The kernel's limit for the whole machine. */
  readonly max: number | undefined;
  readonly current: number | undefined;
}

export interface CpuTopology {
  readonly cores: number;
  readonly physicalCores: number;
  readonly sockets: number;
}

export interface FileSystemRoom extends FileSystemSpace {
  /** Equal for two paths on the same file system. */
  readonly device: string;
}

/** Files of one directory, without sub-directories. */
export interface FilesUsage {
  readonly bytes: number;
  readonly inodes: number;
}
