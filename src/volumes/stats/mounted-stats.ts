// The usage of a volume that is a file system of its own, from statfs. Upstream: pkg/volume/metrics_statfs.go.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import type { VolumeStats } from '../plugin.ts';

export async function mountedStats(host: VolumeHost, path: string): Promise<VolumeStats> {
  const { capacityBytes, availableBytes, usedBytes, inodes, inodesFree } = await host.space(path);
  return { capacityBytes, availableBytes, usedBytes, inodes, inodesFree, inodesUsed: inodes - inodesFree };
}
