// Removes the directories of a block volume. Upstream: cleanupOrphanDeviceFiles in csi_block.go.
// Invariants: nothing is removed below a mount; vol_data.json outlives all that the driver may have created.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import type { BlockPaths, PodDevice } from './paths.ts';
import { refuseMounted } from './remove-files.ts';

/** A pod's device, after the driver has unpublished it. */
export async function removePodDevice(host: VolumeHost, { mapped, published }: PodDevice): Promise<void> {
  await refuseMounted(host, published);
  await refuseMounted(host, mapped);
  await host.removeEmptyOfPlugin(published);
  await host.removeEmptyOfPlugin(mapped);
}

/** Rejects with `conflict` if a pod still has a device of this volume. */
export async function removePodDirectories(
  host: VolumeHost,
  { devicesDir, publishDir }: BlockPaths,
): Promise<void> {
  await refuseMounted(host, publishDir);
  await refuseMounted(host, devicesDir);
  await host.removeEmptyOfPlugin(devicesDir);
  await host.removeEmptyOfPlugin(publishDir);
}

/** All that the pods of the node share of an unstaged volume. */
export async function removeBlockDirectories(host: VolumeHost, paths: BlockPaths): Promise<void> {
  await removePodDirectories(host, paths);
  await refuseMounted(host, paths.staging);
  await host.removeEmptyOfPlugin(paths.staging);
  await host.removeOwnFile(paths.data);
  await host.removeEmptyOfPlugin(paths.dataDir);
  await host.removeEmptyOfPlugin(paths.directory);
}
