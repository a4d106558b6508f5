// Unpublishes a pod's block volume, and finds those of a pod that are not linked in its directory, by what is on disk.
// Upstream: UnmapPodDevice in csi_block.go.
import { settleAll } from '../../base/abort/settle-all.ts';
import type { VolumeOnDisk } from '../plugin.ts';
import type { CsiContext } from './deps.ts';
import { driverMissing, failedAt, named } from './failure.ts';
import { blockDir, blockPaths, podDevice, publishRoot } from './paths.ts';
import { removePodDevice } from './remove-block.ts';
import { isMounted } from './remove-files.ts';
import { unknownVolume } from './tear-down-mount.ts';
import { readVolumeData } from './vol-data.ts';

/** Called after the kubelet's own mapping was removed. */
export async function tearDownBlock(
  { calls, drivers, known, layout, ownership }: CsiContext,
  { directoryName, uid }: VolumeOnDisk,
  signal: AbortSignal,
): Promise<void> {
  const { host } = ownership;
  const paths = blockPaths(layout, directoryName);
  const device = podDevice(paths, uid);
  const found = await readVolumeData(host, paths.data, { specName: directoryName });
  if (found.kind === 'valid') {
    const { driver, handle } = found.data;
    const client = drivers.get(driver);
    if (client === undefined)
      throw failedAt(
        undefined,
        driverMissing(driver),
        named('blockMapper.UnmapPodDevice failed to get CSI client: '),
      );
    await calls
      .of(client, uid, directoryName)
      .unpublish({ volumeId: handle, targetPath: device.published }, signal)
      .catch((err: unknown) => {
        throw failedAt(undefined, err, named('blockMapper.unpublishVolumeForBlock failed: '));
      });
  } else if (await isMounted(host, device.published)) throw unknownVolume(found, paths.data);
  await removePodDevice(host, device);
  known.forgetPath(device.mapped);
}

/** The names of a pod's block volumes that have a file of the driver or of the kubelet. */
export async function findUnlinked(
  { layout, ownership }: CsiContext,
  uid: string,
): Promise<readonly string[]> {
  const { host } = ownership;
  const names = new Set([
    ...(await host.listDirectories(publishRoot(layout))),
    ...(await host.listDirectories(blockDir(layout))),
  ]);
  const found = await settleAll(
    [...names].map(async (name) => {
      const { mapped, published } = podDevice(blockPaths(layout, name), uid);
      const isPresent =
        (await host.kindOf(mapped)) !== undefined || (await host.kindOf(published)) !== undefined;
      return isPresent ? [name] : [];
    }),
  );
  return found.flat().sort();
}
