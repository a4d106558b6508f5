// Asks the driver for the usage of a volume. Upstream: csi_metrics.go.
import type { VolumeStats } from '../plugin.ts';
import { computeStats } from './compute-stats.ts';
import type { CsiContext } from './deps.ts';
import { driverMissing } from './failure.ts';
import { blockPaths, csiVolumeDir, locateVolume, podDevice, targetPaths } from './paths.ts';
import { readVolumeData } from './vol-data.ts';

/** Undefined if the driver does not report usage, or the path is none of a CSI volume. */
export async function readStats(
  { drivers, layout, ownership }: CsiContext,
  path: string,
  signal: AbortSignal,
): Promise<VolumeStats | undefined> {
  const located = locateVolume(layout, path);
  if (located === undefined) return undefined;
  const { directoryName, isBlock, uid } = located;
  const block = blockPaths(layout, directoryName);
  const target = targetPaths(csiVolumeDir(layout, uid, directoryName));
  const data = isBlock ? block.data : target.data;
  const found = await readVolumeData(ownership.host, data, { specName: directoryName });
  if (found.kind !== 'valid') return undefined;
  const { driver, handle } = found.data;
  const client = drivers.get(driver);
  if (client === undefined) throw driverMissing(driver);
  if (!(await client.capabilities(signal)).stats) return undefined;
  const volumePath = isBlock ? podDevice(block, uid).mapped : target.mount;
  const response = await client.stats({ volumeId: handle, volumePath, stagingTargetPath: '' }, signal);
  return { ...computeStats(response), source: driver };
}
