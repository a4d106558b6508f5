// Sets up a CSI block volume: stages it, publishes its device for the pod, checks what the driver did.
// Upstream: csi_block.go (SetUpDevice, MapPodDevice) and NewBlockVolumeMapper.
// Invariants: vol_data.json of the volume and the pod's empty device file are on disk before the driver is first called; what an
// earlier process may have set up is never removed because a repetition failed.
import { podUid } from '../../api/pod/pod-ref.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { SetUpRequest } from '../plugin.ts';
import { computeCapability } from './compute-capability.ts';
import { type CsiVolume, computeCsiVolume } from './csi-volume.ts';
import type { CsiContext } from './deps.ts';
import { failedAt, outcomeOf } from './failure.ts';
import { directoryMode, makePluginDirectory } from './make-directory.ts';
import { uniqueName } from './names.ts';
import { type BlockPaths, blockPaths, type PodDevice, podDevice } from './paths.ts';
import { type Preparation, prepare } from './prepare.ts';
import { removeBlockDirectories, removePodDevice } from './remove-block.ts';
import { blockText, readVolumeData } from './vol-data.ts';

interface Mapping {
  readonly context: CsiContext;
  readonly volume: CsiVolume;
  readonly paths: BlockPaths;
  readonly device: PodDevice;
  readonly prepared: Preparation;
  /** Whether a failure that is final leaves nothing worth keeping for the pod. */
  readonly isRemovable: boolean;
}

/** Returns the path of the device, which may be a link to it. */
export async function setUpBlock(
  context: CsiContext,
  request: SetUpRequest,
  signal: AbortSignal,
): Promise<string> {
  const { known, layout, nodeName, ownership } = context;
  const { host } = ownership;
  const { isRemount, pod, spec } = request;
  const volume = computeCsiVolume(pod, spec);
  const key = uniqueName(volume);
  const paths = blockPaths(layout, spec.directoryName);
  const device = podDevice(paths, podUid(pod));
  const before = await readVolumeData(host, paths.data, { specName: spec.directoryName });
  if (before.kind === 'valid' && uniqueName(before.data) !== key)
    throw new KubeletError(
      'conflict',
      'FailedMapVolume',
      `${paths.directory} is in use by volume ${uniqueName(before.data)}`,
    );
  const mayStage = !known.isStaged(key);
  const prepared = await prepare(context, { request, volume, mayStage }, signal);

  if (before.kind === 'none') known.created(paths.directory);
  const isFirst = (await host.kindOf(device.mapped)) === undefined;
  const isRemovable = !isRemount && (isFirst || known.hasCreated(device.mapped));
  if (isRemovable) known.created(device.mapped);
  known.using(key, undefined);
  await makePluginDirectory(host, layout, paths.dataDir);
  await host.writeOwnFile(paths.data, blockText(volume, spec.directoryName, nodeName));
  await host.makeDirectory(paths.devicesDir, directoryMode);
  if (isFirst) await host.makeFile(device.mapped, directoryMode);

  const mapping = { context, volume, paths, device, prepared, isRemovable };
  await stageBlock(mapping, signal);
  await publishBlock(mapping, signal);
  await checkDevice(mapping, signal);
  return device.published;
}

async function stageBlock(mapping: Mapping, signal: AbortSignal): Promise<void> {
  const { context, paths, prepared, volume } = mapping;
  const { known, ownership } = context;
  const { capabilities, client, publishContext, stageSecrets } = prepared;
  const key = uniqueName(volume);
  if (!capabilities.stage || known.isStaged(key)) return;
  await makePluginDirectory(ownership.host, context.layout, paths.staging);
  const request = {
    volumeId: volume.handle,
    publishContext: { ...publishContext },
    stagingTargetPath: paths.staging,
    volumeCapability: computeCapability(volume, capabilities, { isBlock: true }),
    secrets: { ...stageSecrets },
    volumeContext: { ...volume.attributes },
  };
  try {
    await client.stage(request, signal);
    known.staged(key);
  } catch (err) {
    if (outcomeOf(err) === 'final') await removeFailed(mapping, known.hasCreated(paths.directory));
    throw failedAt(undefined, err);
  }
}

// differs from upstream: the staging path is sent only if the driver stages volumes.
async function publishBlock(mapping: Mapping, signal: AbortSignal): Promise<void> {
  const { context, device, paths, prepared, volume } = mapping;
  const { capabilities, client, publishContext, publishSecrets, volumeContext } = prepared;
  await makePluginDirectory(context.ownership.host, context.layout, paths.publishDir);
  const request = {
    volumeId: volume.handle,
    publishContext: { ...publishContext },
    stagingTargetPath: capabilities.stage ? paths.staging : '',
    targetPath: device.published,
    volumeCapability: computeCapability(volume, capabilities, { isBlock: true }),
    readonly: volume.readOnly,
    secrets: { ...publishSecrets },
    volumeContext: { ...volumeContext },
  };
  try {
    await client.publish(request, signal);
  } catch (err) {
    if (outcomeOf(err) === 'final') await removeFailed(mapping, false);
    throw failedAt('MapPodDevice', err);
  }
}

async function checkDevice(mapping: Mapping, signal: AbortSignal): Promise<void> {
  const { context, device, isRemovable, prepared, volume } = mapping;
  const kind = await context.ownership.host.kindOf(device.published);
  if (kind === 'block-device') return;
  if (isRemovable)
    await prepared.client.unpublish({ volumeId: volume.handle, targetPath: device.published }, signal).then(
      async () => await removeFailed(mapping, false),
      (err: unknown) =>
        context.ownership.log.warn('Failed to unpublish a volume that is not usable', {
          path: device.published,
          err: describeError(err),
        }),
    );
  throw failedAt(
    'MapPodDevice',
    new KubeletError(
      'invalid',
      'FailedMapVolume',
      `the CSI driver ${volume.driver} reported success, but ${device.published} ${kind === undefined ? 'does not exist' : `is a ${kind}, not a block device`}`,
    ),
  );
}

/** `andVolume`: also the directories that the pods of the node share, unless another pod uses them. */
async function removeFailed(
  { context, device, isRemovable, paths, volume }: Mapping,
  andVolume: boolean,
): Promise<void> {
  const { known, ownership } = context;
  if (!isRemovable) return;
  try {
    await removePodDevice(ownership.host, device);
    known.forgetPath(device.mapped);
    if (!andVolume) return;
    await removeBlockDirectories(ownership.host, paths);
    known.forgetPath(paths.directory);
    known.forgetDevice(uniqueName(volume));
  } catch (err) {
    ownership.log.warn('Failed to remove the directory of a volume that was not mapped', {
      path: paths.directory,
      err: describeError(err),
    });
  }
}
