// Removes what the kubelet created for a volume, and what a driver failed to remove. Upstream: removeMountDir in csi_mounter.go,
// cleanupOrphanDeviceFiles in csi_block.go.
// Invariants: nothing is removed below a mount, nor any content; vol_data.json outlives whatever may still be mounted.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import type { MountPaths } from './paths.ts';

export async function isMounted(host: Pick<VolumeHost, 'mountsBelow'>, path: string): Promise<boolean> {
  return (await host.mountsBelow(path)).length > 0;
}

// differs from upstream: a volume that is still mounted after its driver unmounted it is an error, not a leak.
export async function removeTarget(host: VolumeHost, { data, directory, mount }: MountPaths): Promise<void> {
  await removeUnmounted(host, mount, () => host.removeEmpty(mount));
  await host.removeOwnFile(data);
  await host.removeEmpty(directory);
}

export async function removeStaging(host: VolumeHost, { data, directory, mount }: MountPaths): Promise<void> {
  await removeUnmounted(host, mount, () => host.removeEmptyOfPlugin(mount));
  await host.removeOwnFile(data);
  await host.removeEmptyOfPlugin(directory);
}

/** The kernel removes no mount point. The mount table, which takes long to read, is read only to name the reason. */
async function removeUnmounted(host: VolumeHost, path: string, remove: () => Promise<void>): Promise<void> {
  try {
    await remove();
  } catch (err) {
    await refuseMounted(host, path);
    throw err;
  }
}

export async function refuseMounted(host: Pick<VolumeHost, 'mountsBelow'>, path: string): Promise<void> {
  if (await isMounted(host, path))
    throw new KubeletError('conflict', 'StillMounted', `${path} is still mounted`);
}
