// The operations that differ between cgroup v1 and v2. Paths are relative to a hierarchy's mount point.
import type { CgroupSettings, CpuSettings } from '../../api/ports/cgroups.ts';

export interface CgroupKind {
  readonly version: 1 | 2;
  missing(path: string): Promise<string | undefined>;
  /** Creates what is missing, then applies the settings. */
  create(path: string, settings: CgroupSettings): Promise<void>;
  /** As `create`, but leaves hierarchies without settings to the runtime. */
  begin(path: string, settings: CgroupSettings): Promise<void>;
  apply(path: string, settings: CgroupSettings): Promise<void>;
  memoryUsageBytes(path: string): Promise<bigint>;
  memoryLimitBytes(path: string): Promise<bigint>;
  cpu(path: string): Promise<CpuSettings>;
}
