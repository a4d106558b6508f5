// Tears down a pod's CSI volume with a file system, and recovers one, by what is on disk. Upstream: NewUnmounter, TearDownAt and
// ConstructVolumeSpec of the csi plugin.
// Invariants: a volume that a driver may have published is unpublished before its files are removed; without a driver nothing is.
import { KubeletError } from '../../base/errors.ts';
import { containersDir } from '../layout.ts';
import type { SetUpVolume, VolumeOnDisk } from '../plugin.ts';
import type { CsiContext } from './deps.ts';
import { driverMissing, failedAt, named } from './failure.ts';
import { targetPaths } from './paths.ts';
import { readTarget } from './read-target.ts';
import { isMounted, removeTarget } from './remove-files.ts';
import type { DataOnDisk } from './vol-data.ts';

export async function tearDownMount(
  context: CsiContext,
  volume: VolumeOnDisk,
  signal: AbortSignal,
): Promise<void> {
  const { calls, drivers, known, ownership } = context;
  const { host } = ownership;
  const target = targetPaths(volume.path);
  const found = await readTarget(context, volume);
  if (found.kind === 'valid') {
    const { driver, handle } = found.data;
    const client = drivers.get(driver);
    if (client === undefined)
      throw failedAt(
        undefined,
        driverMissing(driver),
        named('Unmounter.TearDownAt failed to get CSI client: '),
      );
    await calls
      .of(client, volume.uid, volume.directoryName)
      .unpublish({ volumeId: handle, targetPath: target.mount }, signal)
      .catch((err: unknown) => {
        throw failedAt(undefined, err, named('Unmounter.TearDownAt failed: '));
      });
  } else if (await isMounted(host, target.mount)) throw unknownVolume(found, target.data);
  // differs from upstream: files of a volume that was never mounted do not keep the pod's directory forever.
  await removeTarget(host, target).catch((err: unknown) => {
    const what = `Unmounter.TearDownAt failed to clean mount dir [${target.mount}]: `;
    throw failedAt(undefined, err, named(what));
  });
  known.forgetPath(volume.path);
}

/** Only the driver can unmount it, which needs the name of the volume. */
export function unknownVolume(found: DataOnDisk, path: string): KubeletError {
  const why = found.kind === 'damaged' ? found.why : 'it does not exist';
  return new KubeletError(
    'invalid',
    'FailedUnmount',
    named(`unmounter failed to load volume data file [${path}]: ${why}, but the volume is mounted`),
  );
}

/**
 * What an earlier process published; undefined if it may not be complete. What this process began to publish is complete only once
 * the driver has reported success: a driver that mounts before it fails may not be done. What an earlier process published is
 * complete if it created a container, which it did after it had mounted all volumes.
 */
export async function reconstructMount(
  context: CsiContext,
  volume: VolumeOnDisk,
): Promise<SetUpVolume | undefined> {
  if (context.known.hasCreated(volume.path)) return undefined;
  const { host } = context.ownership;
  if ((await host.listDirectories(containersDir(context.layout, volume.uid))).length === 0) return undefined;
  const { mount } = targetPaths(volume.path);
  const found = await readTarget(context, volume);
  const mounts = await host.mountsBelow(mount);
  if (found.kind !== 'valid' || !mounts.some(({ path }) => path === mount)) return undefined;
  // Whether the claim is read-only is known to the caller. The driver has mounted it read-only then.
  return { location: { kind: 'path', path: mount }, readOnly: false, managed: false };
}
