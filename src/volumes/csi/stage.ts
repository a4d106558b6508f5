// Has the driver stage a volume, once per node, before it is published to pods. Upstream: MountDevice in csi_attacher.go.
// Invariants: vol_data.json is on disk before the driver is called; after a failure that is final, what this process created is
// removed; after any other failure everything stays, so that the volume is staged again or unstaged.
import { describeError } from '../../base/errors.ts';
import { computeCapability } from './compute-capability.ts';
import { contextOption } from './compute-selinux-label.ts';
import type { CsiVolume } from './csi-volume.ts';
import type { CsiContext } from './deps.ts';
import { failedAt, outcomeOf } from './failure.ts';
import { directoryMode, makePluginDirectory } from './make-directory.ts';
import { uniqueName } from './names.ts';
import { stagingPaths } from './paths.ts';
import type { Preparation } from './prepare.ts';
import { removeStaging } from './remove-files.ts';
import { readVolumeData, stagingText } from './vol-data.ts';

interface StageRequest {
  readonly volume: CsiVolume;
  readonly prepared: Preparation;
  readonly seLinuxLabel: string | undefined;
  readonly fsGroup: number | undefined;
}

/** Does nothing if the driver does not stage volumes, or has staged it for this process. */
export async function stageVolume(
  context: CsiContext,
  { fsGroup, prepared, seLinuxLabel, volume }: StageRequest,
  signal: AbortSignal,
): Promise<void> {
  const { known, layout, ownership } = context;
  const { host } = ownership;
  const { capabilities, client, publishContext, stageSecrets } = prepared;
  const key = uniqueName(volume);
  if (volume.isEphemeral || !capabilities.stage || known.isStaged(key)) return;
  const paths = stagingPaths(layout, volume);
  const before = await readVolumeData(host, paths.data);
  if (before.kind === 'none') known.created(paths.directory);
  await makePluginDirectory(host, layout, paths.directory);
  await host.writeOwnFile(paths.data, stagingText(volume, seLinuxLabel));
  await host.makeDirectory(paths.mount, directoryMode);
  const mountFlags = withLabel(volume.mountFlags, seLinuxLabel);
  const request = {
    volumeId: volume.handle,
    publishContext: { ...publishContext },
    stagingTargetPath: paths.mount,
    volumeCapability: computeCapability(volume, capabilities, { isBlock: false, mountFlags, fsGroup }),
    secrets: { ...stageSecrets },
    volumeContext: { ...volume.attributes },
  };
  try {
    await client.stage(request, signal);
    known.staged(key);
  } catch (err) {
    if (outcomeOf(err) === 'final') await removeFailed(context, volume);
    throw failedAt('MountDevice', err);
  }
}

async function removeFailed({ known, layout, ownership }: CsiContext, volume: CsiVolume): Promise<void> {
  const paths = stagingPaths(layout, volume);
  if (!known.hasCreated(paths.directory)) return;
  try {
    await removeStaging(ownership.host, paths);
    known.forgetDevice(uniqueName(volume));
    known.forgetPath(paths.directory);
  } catch (err) {
    ownership.log.warn('Failed to remove the staging directory of a volume', {
      path: paths.directory,
      err: describeError(err),
    });
  }
}

export function withLabel(mountFlags: readonly string[], label: string | undefined): readonly string[] {
  return label === undefined ? mountFlags : [...mountFlags, contextOption(label)];
}
