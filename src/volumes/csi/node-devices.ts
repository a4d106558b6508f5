// Has drivers unstage the volumes that no pod uses any more. Upstream: UnmountDevice of the csi attacher, TearDownDevice in
// csi_block.go. Invariants: a volume is unstaged only if it has no other mount; its vol_data.json is removed last,
// so that an interrupted release is found and repeated.
import type { CsiDriverClient } from '../../api/ports/csi.ts';
import { KubeletError } from '../../base/errors.ts';
import type { NodeDevices, VolumeOnDisk } from '../plugin.ts';
import type { CsiContext } from './deps.ts';
import { driverMissing, failedAt, named } from './failure.ts';
import { type BlockVolume, findBlockVolumes, findStaged, removeEmptyBlocks } from './find-devices.ts';
import { type CsiVolumeId, csiPluginName, driverLabel, parseUniqueName, uniqueName } from './names.ts';
import { blockPaths, driverDir, locateVolume, stagingPaths } from './paths.ts';
import { readTarget } from './read-target.ts';
import { removeBlockDirectories, removePodDirectories } from './remove-block.ts';
import { isMounted, removeStaging } from './remove-files.ts';
import { type DataOnDisk, readVolumeData } from './vol-data.ts';

export function csiNodeDevices(context: CsiContext): NodeDevices {
  return {
    keyOf: async (volume) => await keyOf(context, volume),
    list: async () => await list(context),
    release: async (key, signal) => await release(context, key, signal),
    attachName: (key) => (isAttached(context, parseUniqueName(key)) ? key : undefined),
    label: (key) => driverLabel(parseUniqueName(key)?.driver ?? 'unknown'),
    isBlock: async (key) => (await findBlockVolumes(context)).some((block) => uniqueName(block) === key),
  };
}

/** A driver without a CSIDriver object, or whose object is not known yet, may have its volumes attached. */
export function isAttached({ storage }: Pick<CsiContext, 'storage'>, id: CsiVolumeId | undefined): boolean {
  if (id === undefined) return false;
  const object = storage.knownCsiDriver(id.driver);
  return object === undefined || object === 'unknown' || object.spec.attachRequired !== false;
}

async function list(context: CsiContext): Promise<readonly string[]> {
  const staged = await findStaged(context);
  await removeEmptyBlocks(context);
  return [...new Set([...staged, ...(await findBlockVolumes(context))].map(uniqueName))].sort();
}

async function keyOf(context: CsiContext, volume: VolumeOnDisk): Promise<string | undefined> {
  const found = await readData(context, volume);
  return found.kind === 'valid' && !found.data.isEphemeral ? uniqueName(found.data) : undefined;
}

/** The plugin's name in metrics of a volume found on disk. */
export async function labelOnDisk(context: CsiContext, volume: VolumeOnDisk): Promise<string> {
  const found = await readData(context, volume);
  return driverLabel(found.kind === 'valid' ? found.data.driver : 'unknown');
}

async function readData(context: CsiContext, volume: VolumeOnDisk): Promise<DataOnDisk> {
  const { layout, ownership } = context;
  const { directoryName: specName, path } = volume;
  if (locateVolume(layout, path)?.isBlock !== true) return await readTarget(context, volume);
  return await readVolumeData(ownership.host, blockPaths(layout, specName).data, { specName });
}

async function release(context: CsiContext, key: string, signal: AbortSignal): Promise<void> {
  const id = parseUniqueName(key);
  if (id === undefined)
    throw new KubeletError(
      'invalid',
      'FailedUnmount',
      `${JSON.stringify(key.slice(0, 256))} is no CSI volume`,
    );
  // From here on another pod has it staged again, even if the driver only began to unstage it.
  context.known.forgetDevice(key);
  await releaseStaged(context, id, signal);
  for (const block of await findBlockVolumes(context))
    if (uniqueName(block) === key) await releaseBlock(context, block, signal);
}

async function releaseStaged(context: CsiContext, id: CsiVolumeId, signal: AbortSignal): Promise<void> {
  const { layout, ownership } = context;
  const { host } = ownership;
  const paths = stagingPaths(layout, id);
  if (
    (await host.listDirectories(driverDir(layout, id.driver))).every(
      (name) => !paths.directory.endsWith(`/${name}`),
    )
  )
    return;
  const references = (await host.mountReferences(paths.mount)).filter(
    (path) => !path.endsWith(withinPlugins(paths.mount)),
  );
  if (references.length > 0) throw stillReferenced(context, id, paths.mount, references);
  const found = await readVolumeData(host, paths.data);
  // A driver that does not stage volumes leaves an empty directory, if the Go kubelet created it.
  if (found.kind !== 'none' || (await isMounted(host, paths.mount))) {
    const client = clientOf(context, id, 'attacher.UnmountDevice failed to create newCsiDriverClient: ');
    const isStaging = await canStage(
      client,
      'attacher.UnmountDevice failed to check whether STAGE_UNSTAGE_VOLUME set: ',
      signal,
    );
    if (isStaging) await unstage(client, id, paths.mount, 'attacher.UnmountDevice failed: ', signal);
  }
  await removeStaging(host, paths).catch((err: unknown) => {
    throw failedAt(undefined, err, `failed to clean up global mount ${paths.directory}: `);
  });
  context.known.forgetPath(paths.directory);
}

async function releaseBlock(context: CsiContext, block: BlockVolume, signal: AbortSignal): Promise<void> {
  const { host } = context.ownership;
  const { paths } = block;
  await removePodDirectories(host, paths).catch((err: unknown) => {
    throw failedAt(undefined, err, `the device "${paths.devicesDir}" is still referenced from other Pods: `);
  });
  if ((await host.kindOf(paths.staging)) !== undefined) {
    const client = clientOf(context, block, 'blockMapper.TearDownDevice failed to get CSI client: ');
    const isStaging = await canStage(
      client,
      'blockMapper.unstageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability: ',
      signal,
    );
    if (isStaging)
      await unstage(client, block, paths.staging, 'blockMapper.unstageVolumeForBlock failed: ', signal);
  }
  await removeBlockDirectories(host, paths);
  context.known.forgetPath(paths.directory);
}

/** The kubelet's root directory may be mounted a second time, with everything in it. */
function withinPlugins(path: string): string {
  return path.slice(path.lastIndexOf(`/plugins/${csiPluginName}/`));
}

function clientOf({ drivers }: CsiContext, { driver }: CsiVolumeId, before: string): CsiDriverClient {
  const client = drivers.get(driver);
  if (client === undefined) throw failedAt(undefined, driverMissing(driver), named(before));
  return client;
}

async function canStage(client: CsiDriverClient, before: string, signal: AbortSignal): Promise<boolean> {
  const { stage } = await client.capabilities(signal).catch((err: unknown) => {
    throw failedAt(undefined, err, named(before));
  });
  return stage;
}

async function unstage(
  client: CsiDriverClient,
  { handle }: CsiVolumeId,
  stagingTargetPath: string,
  before: string,
  signal: AbortSignal,
): Promise<void> {
  await client.unstage({ volumeId: handle, stagingTargetPath }, signal).catch((err: unknown) => {
    throw failedAt(undefined, err, named(before));
  });
}

function stillReferenced(
  { nodeName }: CsiContext,
  id: CsiVolumeId,
  mount: string,
  references: readonly string[],
): KubeletError {
  const shown = references.slice(0, 16).join(' ');
  return new KubeletError(
    'conflict',
    'FailedUnmount',
    `GetDeviceMountRefs check failed for volume "${id.handle}" (UniqueName: "${uniqueName(id)}") on node "${nodeName}" : the device mount path "${mount}" is still mounted by other references [${shown}]`,
  );
}
