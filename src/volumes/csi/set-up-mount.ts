// Sets up a CSI volume with a file system: stages it, publishes it to the pod, checks what the driver did, applies the fsGroup.
// Upstream: MountDevice and SetUpAt of the csi plugin.
// Invariants: vol_data.json in the pod's directory is on disk before the driver is first called, so that a tear-down from disk
// alone finds every volume that a driver may have touched; a volume that was published by an earlier process or an earlier call
// is never removed because a repetition failed.
import { podUid } from '../../api/pod/pod-ref.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { applyFsGroup } from '../ownership.ts';
import type { SetUpRequest, SetUpVolume } from '../plugin.ts';
import { computeCapability } from './compute-capability.ts';
import { shouldApplyFsGroup } from './compute-driver-policy.ts';
import { computeSeLinuxLabel, type SeLinuxSupport, supportsSeLinuxMount } from './compute-selinux-label.ts';
import { type CsiVolume, computeCsiVolume } from './csi-volume.ts';
import type { CsiContext } from './deps.ts';
import { failedAt, outcomeOf } from './failure.ts';
import { directoryMode } from './make-directory.ts';
import { uniqueName } from './names.ts';
import { type MountPaths, stagingPaths, targetPaths } from './paths.ts';
import { type Preparation, prepare } from './prepare.ts';
import { readTarget } from './read-target.ts';
import { isMounted, removeTarget } from './remove-files.ts';
import { stageVolume, withLabel } from './stage.ts';
import { tearDownMount } from './tear-down-mount.ts';
import { type DataOnDisk, readVolumeData, targetText } from './vol-data.ts';

interface Mounting {
  readonly context: CsiContext;
  readonly request: SetUpRequest;
  readonly volume: CsiVolume;
  readonly target: MountPaths;
  /** Whether something was mounted before this attempt. */
  readonly wasMounted: boolean;
  /** Whether a failure that is final leaves nothing worth keeping. */
  readonly isRemovable: boolean;
  readonly prepared: Preparation;
  readonly seLinuxLabel: string | undefined;
}

export async function setUpMount(
  context: CsiContext,
  request: SetUpRequest,
  signal: AbortSignal,
): Promise<SetUpVolume> {
  const { known, nodeName, ownership } = context;
  const { host } = ownership;
  const { isRemount, owner, path, pod, spec } = request;
  const volume = computeCsiVolume(pod, spec);
  const target = targetPaths(path);
  const wasMounted = await isMounted(host, target.mount);
  const before = await readTargetOf(context, request, { volume, target, wasMounted }, signal);
  const mayStage = !known.isStaged(uniqueName(volume));
  const prepared = await prepare(context, { request, volume, mayStage }, signal);
  const mounted = wasMounted && before.kind === 'valid' ? before.data : undefined;
  const seLinuxLabel = await labelOf(context, request, { volume, prepared, mounted });

  const isFirst = before.kind !== 'valid' && !wasMounted;
  const isRemovable = !isRemount && (isFirst || known.hasCreated(path));
  if (isRemovable) known.created(path);
  if (!volume.isEphemeral) known.using(uniqueName(volume), seLinuxLabel);
  await host.makeDirectory(path, directoryMode);
  await host.writeOwnFile(target.data, targetText(volume, spec.directoryName, nodeName, seLinuxLabel));

  const mounting = { context, request, volume, target, wasMounted, isRemovable, prepared, seLinuxLabel };
  try {
    await stageVolume(context, { volume, prepared, seLinuxLabel, fsGroup: owner.fsGroup }, signal);
    await publish(mounting, signal);
  } catch (err) {
    if (outcomeOf(err) === 'final') await removeIfPossible(mounting);
    throw err;
  }
  await checkTarget(mounting, signal);
  await ownFiles(mounting, signal);
  const readOnly = volume.readOnly || spec.readOnly;
  const managed = !readOnly && seLinuxLabel === undefined;
  return { location: { kind: 'path', path: target.mount }, readOnly, managed };
}

/** A PersistentVolume may have been replaced by one of the same name. Its directory must not lose track of what is mounted there. */
async function readTargetOf(
  context: CsiContext,
  { path, pod, spec: { directoryName } }: SetUpRequest,
  { target, volume, wasMounted }: Pick<Mounting, 'target' | 'volume' | 'wasMounted'>,
  signal: AbortSignal,
): Promise<DataOnDisk> {
  const found = await readTarget(context, { uid: podUid(pod), directoryName, path });
  // A damaged file is written again, as by upstream.
  if (found.kind !== 'valid') return found;
  const { driver, handle } = found.data;
  if (driver === volume.driver && handle === volume.handle) return found;
  if (!wasMounted) {
    await tearDownMount(context, { uid: podUid(pod), directoryName, path }, signal);
    return { kind: 'none' };
  }
  const why = 'it does not name this volume';
  throw new KubeletError('conflict', 'FailedMount', `${target.mount} is mounted, but ${target.data}: ${why}`);
}

/** The label to mount with. Rejects while other pods have the volume mounted with another one. */
async function labelOf(
  context: CsiContext,
  { pod, spec }: SetUpRequest,
  {
    mounted,
    prepared,
    volume,
  }: {
    readonly volume: CsiVolume;
    readonly prepared: Preparation;
    readonly mounted: { readonly seLinuxLabel: string | undefined } | undefined;
  },
): Promise<string | undefined> {
  const { known, layout, ownership, seLinux } = context;
  const isSupportedByDriver = prepared.object?.spec.seLinuxMount === true;
  const { everyAccessMode } = seLinux;
  const isEnabled = isSupportedByDriver && (await seLinux.isEnabled());
  const support: SeLinuxSupport = { isEnabled, isSupportedByDriver, everyAccessMode };
  // A running pod keeps the label that its volume is mounted with, even if the driver's settings have changed.
  const label = mounted === undefined ? computeSeLinuxLabel(pod, spec, support) : mounted.seLinuxLabel;
  if (!supportsSeLinuxMount(spec, support)) return label;
  const key = uniqueName(volume);
  const onDisk = await readVolumeData(ownership.host, stagingPaths(layout, volume).data);
  const inUse = known.device(key) ?? (onDisk.kind === 'valid' ? onDisk.data : undefined);
  if (inUse === undefined || inUse.seLinuxLabel === label) return label;
  throw new KubeletError(
    'conflict',
    'FailedMount',
    `waiting for unmount of volume "${key}", because it is already mounted to a different pod with a different SELinux label`,
  );
}

async function publish(
  { context, prepared, request, seLinuxLabel, target, volume }: Mounting,
  signal: AbortSignal,
): Promise<void> {
  const { capabilities, client, publishContext, publishSecrets, volumeContext } = prepared;
  const mountFlags = withLabel(volume.mountFlags, seLinuxLabel);
  const isStaged = capabilities.stage && !volume.isEphemeral;
  const { fsGroup } = request.owner;
  const publishRequest = {
    volumeId: volume.handle,
    publishContext: { ...publishContext },
    stagingTargetPath: isStaged ? stagingPaths(context.layout, volume).mount : '',
    targetPath: target.mount,
    volumeCapability: computeCapability(volume, capabilities, { isBlock: false, mountFlags, fsGroup }),
    readonly: volume.readOnly,
    secrets: { ...publishSecrets },
    volumeContext: { ...volumeContext },
  };
  await client.publish(publishRequest, signal).catch((err: unknown) => {
    throw failedAt(undefined, err);
  });
}

// differs from upstream: upstream hands whatever is at the target to the runtime, which creates a missing directory, so that the
// pod would write to the node's disk, and follows a link out of the pod's directory.
async function checkTarget(mounting: Mounting, signal: AbortSignal): Promise<void> {
  const { context, isRemovable, prepared, target, volume } = mounting;
  const { log } = context.ownership;
  const problem = await targetProblem(mounting);
  if (problem === undefined) return;
  if (isRemovable)
    await prepared.client.unpublish({ volumeId: volume.handle, targetPath: target.mount }, signal).then(
      async () => await removeIfPossible(mounting),
      (err: unknown) =>
        log.warn('Failed to unpublish a volume that is not usable', {
          path: target.mount,
          err: describeError(err),
        }),
    );
  throw new KubeletError(
    'invalid',
    'FailedMount',
    `the CSI driver ${volume.driver} reported success, but ${target.mount} ${problem}`,
  );
}

/** A mount point in the mount table is no link. Its file system is not accessed, since its server may not respond. */
async function targetProblem({ context, target: { mount } }: Mounting): Promise<string | undefined> {
  const { host } = context.ownership;
  if ((await host.mountsBelow(mount)).some(({ path }) => path === mount)) return undefined;
  if (await host.isLink(mount)) return 'is a symbolic link';
  const kind = await host.kindOf(mount);
  if (kind === 'directory') return undefined;
  return kind === undefined ? 'does not exist' : `is a ${kind}, not a directory`;
}

async function ownFiles(mounting: Mounting, signal: AbortSignal): Promise<void> {
  const { context, isRemovable, prepared, request, target, volume, wasMounted } = mounting;
  const { isRemount, owner } = request;
  const isAppliedByDriver = prepared.capabilities.volumeMountGroup;
  const { fsGroup } = owner;
  if (!shouldApplyFsGroup(volume, prepared.fsGroupPolicy, { fsGroup, isAppliedByDriver })) return;
  // The walk changes the root last, so that what an earlier process has completed need not be walked again. A republish may have
  // brought new files.
  const isOfEarlierProcess = wasMounted && !isRemount && !isRemovable;
  const onlyOnRootMismatch = owner.onlyOnRootMismatch || isOfEarlierProcess;
  const ofMount = { ...request, path: target.mount };
  await applyFsGroup(context.ownership, ofMount, { readOnly: false, onlyOnRootMismatch }, signal).catch(
    (err: unknown) => {
      throw failedAt(undefined, err, `applyFSGroup failed for vol ${volume.handle}: `);
    },
  );
}

async function removeIfPossible({ context, isRemovable, request, target }: Mounting): Promise<void> {
  const { known, ownership } = context;
  if (!isRemovable) return;
  try {
    await removeTarget(ownership.host, target);
    known.forgetPath(request.path);
  } catch (err) {
    ownership.log.warn('Failed to remove the directory of a volume that was not mounted', {
      path: request.path,
      err: describeError(err),
    });
  }
}
