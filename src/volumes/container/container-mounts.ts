// Generates the CRI mounts of one container. Upstream: makeMounts in pkg/kubelet/kubelet_pods.go.
// Invariant: a subPath is bind-mounted by the kubelet before the runtime gets it, since the runtime would follow links in it.

import {
  type Device,
  type ImageSpec,
  type Mount,
  MountPropagation,
} from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Container, Pod, VolumeMount } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { subPathNotCreated, type VolumeHost } from '../../api/ports/volume-host.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { subPathTarget, type VolumeLayout } from '../layout.ts';
import type { MountedVolume } from '../mounted-volumes.ts';
import { isSeLinuxEnabled } from '../selinux.ts';
import { type RecursiveReadOnlyDeps, supportsRecursiveReadOnly } from './recursive-read-only.ts';

export interface ContainerMountsDeps extends RecursiveReadOnlyDeps {
  readonly host: VolumeHost;
  readonly layout: VolumeLayout;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface MountRequest {
  readonly pod: Pod;
  readonly container: Container;
  /** The images of image volumes, by volume. */
  readonly imageVolumes: ReadonlyMap<string, CriRequest<ImageSpec>>;
  readonly mounted: (name: string) => MountedVolume | undefined;
  readonly expand: (text: string) => string;
}

/** Deadline for a remote server to respond before a subPath of its volume is bind-mounted. */
const serverTimeoutMs = 10_000;

export async function containerMounts(
  deps: ContainerMountsDeps,
  request: MountRequest,
  signal: AbortSignal,
): Promise<readonly CriRequest<Mount>[]> {
  const mounts: CriRequest<Mount>[] = [];
  for (const [index, mount] of (request.container.volumeMounts ?? []).entries()) {
    signal.throwIfAborted();
    mounts.push(await generateMount(deps, request, mount, index, signal));
  }
  return mounts;
}

/** Generates the CRI devices of one container. Upstream: makeBlockVolumes in pkg/kubelet/kubelet_pods.go. Pure. */
export function containerDevices({
  container,
  mounted,
}: Pick<MountRequest, 'container' | 'mounted'>): readonly CriRequest<Device>[] {
  return (container.volumeDevices ?? []).map(({ devicePath, name }) => {
    if (!devicePath.startsWith('/'))
      throw refused(`error DevicePath \`${devicePath}\` must be an absolute path`);
    const volume = mounted(name);
    if (volume?.location.kind !== 'device')
      throw refused(`cannot find volume "${name}" to pass into container "${container.name}"`);
    const permissions = volume.readOnly ? 'r' : 'mrw';
    return { hostPath: volume.location.path, containerPath: devicePath, permissions };
  });
}

async function generateMount(
  deps: ContainerMountsDeps,
  request: MountRequest,
  mount: VolumeMount,
  index: number,
  signal: AbortSignal,
): Promise<CriRequest<Mount>> {
  const { pod, container } = request;
  const volume = request.mounted(mount.name);
  if (volume === undefined || volume.location.kind === 'device') throw notFound(mount.name, container.name);
  const subPath = validSubPath(
    mount.subPathExpr === undefined || mount.subPathExpr === ''
      ? (mount.subPath ?? '')
      : request.expand(mount.subPathExpr),
  );
  const isRecursive = await resolveRecursiveReadOnly(deps, pod, mount, signal);
  const common = {
    containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
    readonly: mount.readOnly === true || volume.readOnly,
    recursiveReadOnly: isRecursive,
    selinuxRelabel: volume.managed && (await isSeLinuxEnabled(deps.host)),
    propagation: propagationOf(mount.mountPropagation),
  };
  if (volume.location.kind === 'image') {
    const image = request.imageVolumes.get(mount.name);
    if (image === undefined) throw notFound(mount.name, container.name);
    return { ...common, hostPath: '', image, imageSubPath: subPath };
  }
  const hostPath =
    subPath === ''
      ? volume.location.path
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
  const volumePath = volume.location.kind === 'image' ? '' : volume.location.path;
  try {
    if (volume.plugin.isRemote) await waitForServer(deps, volumePath, signal);
    await deps.host.bindSubPath({ volumePath, subPath, target, create: true }, signal);
    return target;
  } catch (err) {
    if (signal.aborted) throw err;
    // The event omits the cause, which would reveal paths of the node to the pod's owner.
    deps.log.warn('Failed to bind-mount subPath of volume', {
      podUID: uid,
      container: container.name,
      volume: mount.name,
      err,
    });
    const isCreated = !(err instanceof KubeletError && err.reason === subPathNotCreated);
    throw refused(
      `failed to ${isCreated ? 'prepare subPath' : 'create subPath directory'} for volumeMount "${mount.name}" of container "${container.name}"`,
    );
  }
}

/** Checks from another process, since any access to an unresponsive server blocks. */
async function waitForServer(deps: ContainerMountsDeps, path: string, signal: AbortSignal): Promise<void> {
  const what = `wait for the server of ${path}`;
  const isResponsive = await withDeadline(
    { clock: deps.clock, ms: serverTimeoutMs, signal, what },
    async (within) => await deps.host.isResponsive(path, within),
  );
  if (!isResponsive)
    throw new KubeletError('unavailable', 'ServerAway', `the server of ${path} does not respond`);
}

function validSubPath(subPath: string): string {
  if (subPath.startsWith('/')) throw refused(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..'))
    throw refused(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  if (subPath.includes('\0')) throw refused('unable to provision SubPath: must not contain a NUL');
  return subPath;
}

async function resolveRecursiveReadOnly(
  deps: ContainerMountsDeps,
  pod: Pod,
  mount: VolumeMount,
  signal: AbortSignal,
): Promise<boolean> {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  const fail = (reason: string): KubeletError =>
    refused(
      `failed to resolve recursive read-only mode: volume "${mount.name}" requested recursive read-only mode, but it is ${reason}`,
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

function notFound(volume: string, container: string): KubeletError {
  return refused(`cannot find volume "${volume}" to mount into container "${container}"`);
}

function refused(message: string): KubeletError {
  return new KubeletError('invalid', 'CreateContainerConfigError', message);
}
