// Makes the images of a pod's image volumes present: once per sync, before its first container is created.
// Upstream: getImageVolumes and toKubeContainerImageVolumes in kuberuntime_manager.go.
// Invariants: the images of all volumes of the pod are requested, also of those that no container mounts; a failure is a waiting
// reason of the containers that mount the volume, and of no other.
import type { ImageSpec } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest, CriRuntime } from '../../api/cri/runtime.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { lookUpRuntimeHandler } from '../../api/pod/runtime-handler.ts';
import { isAbort, isKind, KubeletError } from '../../base/errors.ts';
import type { PodInputs } from '../runtime-deps.ts';
import type { ImageVolume, SyncContext } from '../sync-context.ts';

interface ImageVolumesDeps {
  readonly inputs: Pick<PodInputs, 'images' | 'objects'>;
}

/** The images of the volumes that a container mounts, by volume. Rejects if one of them is missing. */
export async function imageVolumesOf(
  deps: ImageVolumesDeps,
  context: SyncContext,
  container: Container,
): Promise<ReadonlyMap<string, CriRequest<ImageSpec>>> {
  const images = new Map<string, CriRequest<ImageSpec>>();
  if (!hasImageVolume(context.pod)) return images;
  context.imageVolumes ??= ensureAll(deps, context);
  const volumes = await context.imageVolumes;
  for (const { name } of container.volumeMounts ?? []) {
    const volume = volumes.get(name);
    if (volume === undefined) continue;
    if ('err' in volume) throw volume.err;
    images.set(name, volume.spec);
  }
  return images;
}

/** Stand-ins for the containers of the images that a container mounts: their pulls have a backoff of their own. */
export function mountedImages(pod: Pod, container: Container): readonly Container[] {
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  return (pod.spec?.volumes ?? []).flatMap(({ image, name }) =>
    image === undefined || !mounted.has(name) ? [] : [standIn(image)],
  );
}

/** The error of a runtime that cannot mount an image. Upstream: ErrImageVolumeMountFailed in cri-api/pkg/errors. */
const mountFailed = 'ImageVolumeMountFailed';
const unsupported = 'image volumes need containerd';

/** The first containerd that mounts images. Others ignore the field and fail on the empty path. */
const firstContainerd = [2, 1] as const;

// differs from upstream: upstream reports the runtime's error about an empty path.
/** The failure to create a container that mounts images: a runtime without image volumes is named. */
export async function imageMountFailure(
  cri: Pick<CriRuntime, 'version'>,
  err: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(err instanceof KubeletError) || isKind(err, 'unavailable')) return err;
  const runtime = await cri.version({}, { signal }).catch(() => undefined);
  if (runtime?.runtimeName !== 'containerd') return err;
  const [major = 0, minor = 0] = runtime.runtimeVersion.replace(/^v/, '').split('.').map(Number);
  const [firstMajor, firstMinor] = firstContainerd;
  if (major > firstMajor || (major === firstMajor && minor >= firstMinor)) return err;
  const { runtimeVersion } = runtime;
  const message = `${unsupported} ${firstContainerd.join('.')}, the container runtime is containerd ${runtimeVersion}: ${err.message}`;
  return new KubeletError(err.kind, err.reason, message, { cause: err });
}

// differs from upstream: upstream counts every other failure to create the container as a successful mount.
/** Whether a failure to create a container is due to its image volumes. */
export function isImageMountFailure(err: unknown): boolean {
  if (!(err instanceof KubeletError)) return false;
  return err.message.startsWith(mountFailed) || err.message.startsWith(unsupported);
}

function hasImageVolume(pod: Pod): boolean {
  return (pod.spec?.volumes ?? []).some(({ image }) => image !== undefined);
}

/** Without a name: the events are about the pod, not about a container. */
function standIn({ pullPolicy = 'IfNotPresent', reference = '' }: ImageSource): Container {
  return { name: '', image: reference, imagePullPolicy: pullPolicy };
}

interface ImageSource {
  readonly reference?: string;
  readonly pullPolicy?: string;
}

async function ensureAll(
  deps: ImageVolumesDeps,
  context: SyncContext,
): Promise<ReadonlyMap<string, ImageVolume>> {
  const { pod, signal } = context;
  const runtimeHandler = await lookUpRuntimeHandler(deps.inputs.objects, pod, signal);
  const pulls = (pod.spec?.volumes ?? []).flatMap(({ image, name }) =>
    image === undefined
      ? []
      : [ensure(deps, context, image, runtimeHandler).then((volume) => [name, volume] as const)],
  );
  return new Map(await Promise.all(pulls));
}

async function ensure(
  { inputs: { images } }: ImageVolumesDeps,
  { pod, sandbox, signal }: SyncContext,
  source: ImageSource,
  runtimeHandler: string,
): Promise<ImageVolume> {
  const container = standIn(source);
  const { reference = '' } = source;
  try {
    const found = await images.find(reference, signal, { pod, container });
    const sandboxConfig = sandbox?.config ?? {};
    const { ref } = await images.ensure({ pod, container, sandboxConfig }, found, signal);
    const annotations = pod.metadata?.annotations ?? {};
    return { spec: { image: ref, userSpecifiedImage: reference, runtimeHandler, annotations } };
  } catch (err) {
    if (isAbort(err) || signal.aborted) throw err;
    return { err };
  }
}
