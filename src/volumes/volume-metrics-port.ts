// The metrics of volumes as this folder reports them. Upstream: pkg/volume/util/metrics.go, pkg/kubelet/volumemanager/metrics.
import type { Clock } from '../base/clock.ts';

/** Upstream's names. */
type VolumeOperationName =
  | 'volume_mount'
  | 'volume_unmount'
  | 'map_volume'
  | 'unmap_volume'
  | 'unmount_device'
  | 'unmap_device'
  | 'verify_controller_attached_volume'
  | 'volume_fs_resize';

interface VolumeOperation {
  readonly plugin: string;
  readonly operation: VolumeOperationName;
  /** Whether CSI migration translated the volume. Default: false. */
  readonly migrated?: boolean;
}

/** Names of plugins, once per volume. */
export interface VolumeCounts {
  readonly desired: readonly string[];
  readonly mounted: readonly string[];
}

export interface VolumeMetricsPort {
  /** Records how long a mount or unmount took and whether it failed. */
  observe(operation: VolumeOperation & { readonly seconds: number; readonly failed: boolean }): void;
  /** Sets the function that counts volumes at each scrape. */
  countBy(counts: () => VolumeCounts): void;
  /** Records how long measuring the usage of a volume took, by the source of the numbers. */
  measured(source: string, seconds: number): void;
}

/** Runs an operation and records its duration, whether it succeeds or fails. */
export async function observeOperation<T>(
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Pick<VolumeMetricsPort, 'observe'> },
  operation: VolumeOperation,
  run: () => Promise<T>,
): Promise<T> {
  const startedMs = clock.monotonic();
  let failed = true;
  try {
    const result = await run();
    failed = false;
    return result;
  } finally {
    metrics.observe({ ...operation, seconds: (clock.monotonic() - startedMs) / 1_000, failed });
  }
}
