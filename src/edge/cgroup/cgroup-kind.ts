// What differs between the two versions of control groups. Paths are relative to a hierarchy's mount point.
import type { CgroupSettings, CpuSettings } from '../../api/ports/cgroups.ts';

export interface CgroupKind {
  readonly version: 1 | 2;
  missing(path: string): Promise<string | undefined>;
  /** Makes what is missing, then gives it its amounts. */
  create(path: string, settings: CgroupSettings): Promise<void>;
  /** The same where a runtime will make what it misses. */
  begin(path: string, settings: CgroupSettings): Promise<void>;
  apply(path: string, settings: CgroupSettings): Promise<void>;
  memoryUsageBytes(path: string): Promise<bigint>;
  memoryLimitBytes(path: string): Promise<bigint>;
  cpu(path: string): Promise<CpuSettings>;
}
