// The mounts of one container in the CRI's terms. Upstream: makeMounts in pkg/kubelet/kubelet_pods.go.
// Invariant: a sub-path is bound by the host before it is named to the runtime, which would follow links in it.

import { type Device, type Mount, MountPropagation } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Container, Pod, VolumeMount } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { subPathNotMade, type VolumeHost } from '../../api/ports/volume-host.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { subPathTarget, type VolumeLayout } from '../layout.ts';
import type { MountedVolume } from '../mounted-volumes.ts';
import { type RecursiveReadOnlyDeps, supportsRecursiveReadOnly } from './recursive-read-only.ts';
import { ensureVolumeImage, type VolumeImages } from './volume-image.ts';

export interface ContainerMountsDeps extends RecursiveReadOnlyDeps {
  readonly host: VolumeHost;
  readonly layout: VolumeLayout;
  readonly images: VolumeImages;
  readonly clock: Clock;
  readonly log: Logger;
}

interface MountRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly mounted: (name: string) => MountedVolume | undefined;
  readonly expand: (text: string) => string;
}

/** How long a server is waited for before a part of its volume is bound. */
const answerWithinMs = 10_000;

/** Exists where SELinux is enabled. */
const seLinuxFile = '/sys/fs/selinux/enforce';

export async function containerMounts(
  deps: ContainerMountsDeps,
  request: MountRequest,
  signal: AbortSignal,
): Promise<readonly CriRequest<Mount>[]> {
  const mounts: CriRequest<Mount>[] = [];
  for (const [index, mount] of (request.container.volumeMounts ?? []).entries()) {
    signal.throwIfAborted();
    mounts.push(await oneMount(deps, request, mount, index, signal));
  }
  return mounts;
}

/** The devices of one container. Upstream: makeBlockVolumes in pkg/kubelet/kubelet_pods.go. Pure. */
export function containerDevices({
  container,
  mounted,
}: Pick<MountRequest, 'container' | 'mounted'>): readonly CriRequest<Device>[] {
  return (container.volumeDevices ?? []).map(({ devicePath, name }) => {
    if (!devicePath.startsWith('/'))
      throw refused(`error DevicePath \`${devicePath}\` must be an absolute path`);
    const volume = mounted(name);
    if (volume?.place.kind !== 'device')
      throw refused(`cannot find volume "${name}" to pass into container "${container.name}"`);
    const permissions = volume.readOnly ? 'r' : 'mrw';
    return { hostPath: volume.place.path, containerPath: devicePath, permissions };
  });
}

async function oneMount(
  deps: ContainerMountsDeps,
  request: MountRequest,
  mount: VolumeMount,
  index: number,
  signal: AbortSignal,
): Promise<CriRequest<Mount>> {
  const { pod, container } = request;
  const volume = request.mounted(mount.name);
  if (volume === undefined || volume.place.kind === 'device')
    throw refused(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
  const subPath = checkedSubPath(
    mount.subPathExpr === undefined || mount.subPathExpr === ''
      ? (mount.subPath ?? '')
      : request.expand(mount.subPathExpr),
  );
  const rro = await recursiveReadOnly(deps, pod, mount, signal);
  const common = {
    containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
    readonly: mount.readOnly === true || volume.readOnly,
    recursiveReadOnly: rro,
    selinuxRelabel: volume.managed && (await hasSeLinux(deps)),
    propagation: propagationOf(mount.mountPropagation),
  };
  if (volume.place.kind === 'image') {
    const image = await ensureVolumeImage(deps.images, pod, volume.place, signal);
    const spec = { image, userSpecifiedImage: volume.place.reference };
    return { ...common, hostPath: '', image: spec, imageSubPath: subPath };
  }
  const hostPath =
    subPath === ''
      ? volume.place.path
      : await bindSubPath(deps, request, { volume, mount, subPath, index }, signal);
  return { ...common, hostPath };
}

interface SubPathMount {
  readonly volume: MountedVolume;
  readonly mount: VolumeMount;
  readonly subPath: string;
  readonly index: number;
}

async function bindSubPath(
  deps: ContainerMountsDeps,
  { pod, container }: MountRequest,
  { volume, mount, subPath, index }: SubPathMount,
  signal: AbortSignal,
): Promise<string> {
  const { directoryName } = volume.spec;
  const uid = podUid(pod);
  const target = subPathTarget(deps.layout, { uid, directoryName, container: container.name, index });
  const volumePath = volume.place.kind === 'image' ? '' : volume.place.path;
  try {
    if (volume.plugin.isRemote) await waitForServer(deps, volumePath, signal);
    await deps.host.bindSubPath({ volumePath, subPath, target, create: true }, signal);
    return target;
  } catch (err) {
    if (signal.aborted) throw err;
    // The pod's owner is not told what is on the node; the node's log is.
    deps.log.warn('Sub-path of a volume cannot be mounted', {
      podUID: uid,
      container: container.name,
      volume: mount.name,
      err,
    });
    const isMade = !(err instanceof KubeletError && err.reason === subPathNotMade);
    throw refused(
      `failed to ${isMade ? 'prepare subPath' : 'create subPath directory'} for volumeMount "${mount.name}" of container "${container.name}"`,
    );
  }
}

/** Asked from another process, since a server that does not answer would hold whoever touches its files. */
async function waitForServer(deps: ContainerMountsDeps, path: string, signal: AbortSignal): Promise<void> {
  const what = `wait for the server of ${path}`;
  const answers = await withDeadline(
    { clock: deps.clock, ms: answerWithinMs, signal, what },
    async (soon) => await deps.host.answers(path, soon),
  );
  if (!answers) throw new KubeletError('unavailable', 'ServerAway', `the server of ${path} does not answer`);
}

function checkedSubPath(subPath: string): string {
  if (subPath.startsWith('/')) throw refused(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..'))
    throw refused(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  if (subPath.includes('\0')) throw refused('unable to provision SubPath: must not contain a NUL');
  return subPath;
}

async function recursiveReadOnly(
  deps: ContainerMountsDeps,
  pod: Pod,
  mount: VolumeMount,
  signal: AbortSignal,
): Promise<boolean> {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  const fail = (why: string): KubeletError =>
    refused(
      `failed to resolve recursive read-only mode: volume "${mount.name}" requested recursive read-only mode, but it is ${why}`,
    );
  const { mountPropagation = 'None' } = mount;
  if (mount.readOnly !== true) throw fail('not read-only');
  if (mountPropagation !== 'None') throw fail(`not compatible with propagation "${mountPropagation}"`);
  const isSupported = await supportsRecursiveReadOnly(deps, pod, signal);
  if (mode === 'IfPossible') return isSupported;
  if (mode !== 'Enabled')
    throw refused(`failed to resolve recursive read-only mode: unknown recursive read-only mode "${mode}"`);
  if (!isSupported) throw fail('not supported by the runtime');
  return true;
}

async function hasSeLinux({ host }: ContainerMountsDeps): Promise<boolean> {
  return (await host.kindOf(seLinuxFile)) === 'file';
}

function propagationOf(mode: string | undefined): MountPropagation {
  switch (mode) {
    case undefined:
    case 'None':
      return MountPropagation.PROPAGATION_PRIVATE;
    case 'HostToContainer':
      return MountPropagation.PROPAGATION_HOST_TO_CONTAINER;
    case 'Bidirectional':
      return MountPropagation.PROPAGATION_BIDIRECTIONAL;
    default:
      throw refused(`invalid MountPropagation mode: "${mode}"`);
  }
}

function refused(message: string): KubeletError {
  return new KubeletError('invalid', 'CreateContainerConfigError', message);
}
