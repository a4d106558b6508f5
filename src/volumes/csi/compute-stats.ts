// The usage that a driver reports of a volume, bounded. Pure. Upstream: NodeGetVolumeStats in csi_client.go.
import {
  type NodeGetVolumeStatsResponse,
  VolumeUsage_Unit as Unit,
  type VolumeUsage,
} from '../../api/csi/generated/csi/v1/csi.ts';
import { KubeletError } from '../../base/errors.ts';
import type { VolumeStats } from '../plugin.ts';

/** A response needs two. */
const mostUsages = 16;

export function computeStats({ usage }: NodeGetVolumeStatsResponse): VolumeStats {
  if (usage.length === 0)
    throw new KubeletError('invalid', 'InvalidStats', 'failed to get usage from response. usage is nil');
  const of = (unit: VolumeUsage['unit']): VolumeUsage | undefined =>
    usage.slice(0, mostUsages).findLast((each) => each.unit === unit);
  const bytes = of(Unit.BYTES);
  const inodes = of(Unit.INODES);
  return {
    usedBytes: bounded(bytes?.used),
    capacityBytes: bounded(bytes?.total),
    availableBytes: bounded(bytes?.available),
    inodesUsed: bounded(inodes?.used),
    inodes: bounded(inodes?.total),
    inodesFree: bounded(inodes?.available),
  };
}

// differs from upstream: negative and absurd numbers do not reach summaries and metrics.
function bounded(figure: bigint | undefined): number {
  if (figure === undefined || figure < 0n) return 0;
  return figure > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(figure);
}
