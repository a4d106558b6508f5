// One cgroup of /metrics/cadvisor with all its figures. Types only.
import type { CgroupDetails, CgroupUsage } from '../../api/ports/cgroup-usage.ts';
import type { DeviceFileSystem, InterfaceUsage, ProcessDetails } from '../../api/ports/host-usage.ts';

export interface CadvisorEntry {
  readonly path: string;
  /** Empty if the cgroup is not a container's. */
  readonly container: string;
  readonly image: string;
  /** The ID of the container or sandbox. */
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
  readonly usage: CgroupUsage;
  readonly details: CgroupDetails;
  /** Equal to the creation time unless the runtime started the container later. */
  readonly startedAtMs: number;
  readonly processes: ProcessDetails;
  /** Of the first process; -1: unlimited; undefined: unknown. */
  readonly softOpenFiles: number | undefined;
  /** Set for sandboxes and the machine only, so that a shared network namespace is counted once. */
  readonly interfaces: readonly InterfaceUsage[];
  /** Set for the machine only. */
  readonly fileSystems: readonly DeviceFileSystem[];
}

export interface MachineEntry {
  readonly bootId: string;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly cores: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly kernelVersion: string;
  readonly osVersion: string;
}

export interface CadvisorScrape {
  readonly machine: MachineEntry;
  readonly entries: readonly CadvisorEntry[];
  readonly atMs: number;
  readonly failed: boolean;
}
