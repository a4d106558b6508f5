// Resolves a volume of a pod to what is mounted: a claim, referenced or generic ephemeral, leads to its persistent volume.
// Upstream: createVolumeSpec and getPVCExtractPV in volumemanager/populator.
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { VolumeSpec } from '../plugin.ts';

export type ClaimObjects = Pick<PodObjects, 'persistentVolume' | 'persistentVolumeClaim'>;

export async function resolveVolume(
  objects: ClaimObjects,
  pod: Pod,
  volume: Volume,
  signal: AbortSignal,
): Promise<VolumeSpec> {
  const { name, ...source } = volume;
  const claim = claimOf(pod, volume);
  if (claim === undefined)
    return {
      name,
      directoryName: name,
      source,
      readOnly: volume.nfs?.readOnly === true,
      mountOptions: [],
      persistent: undefined,
      isBlock: false,
    };
  const namespace = pod.metadata?.namespace ?? '';
  let spec: VolumeSpec;
  try {
    const bound = await describeFetch(
      'PVC',
      objects.persistentVolumeClaim(namespace, claim.claimName, signal),
    );
    checkClaim(bound);
    if (claim.isEphemeral) checkOwner(pod, bound);
    const volumeName = bound.spec?.volumeName ?? '';
    const persistent = await describeFetch(`PV ${volumeName}`, objects.persistentVolume(volumeName, signal));
    checkBinding(persistent, bound);
    spec = fromPersistent(name, persistent, claim.readOnly);
  } catch (err) {
    if (signal.aborted) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const message = `error processing PVC ${namespace}/${claim.claimName}: ${describeError(err)}`;
    throw new KubeletError(kind, 'FailedMount', message, { cause: err });
  }
  checkMode(pod, spec);
  return spec;
}

async function describeFetch<T>(what: string, work: Promise<T>): Promise<T> {
  return await work.catch((err: unknown) => {
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const message = `failed to fetch ${what} from API server: ${describeError(err)}`;
    throw new KubeletError(kind, 'FailedMount', message, { cause: err });
  });
}

interface ClaimReference {
  readonly claimName: string;
  readonly readOnly: boolean;
  readonly isEphemeral: boolean;
}

function claimOf(pod: Pod, volume: Volume): ClaimReference | undefined {
  const { persistentVolumeClaim: claim, ephemeral } = volume;
  if (claim !== undefined)
    return { claimName: claim.claimName, readOnly: claim.readOnly === true, isEphemeral: false };
  if (ephemeral === undefined) return undefined;
  return { claimName: `${pod.metadata?.name ?? ''}-${volume.name}`, readOnly: false, isEphemeral: true };
}

const protection = 'kubernetes.io/pvc-protection';

function checkClaim({ metadata, spec, status }: PersistentVolumeClaim): void {
  const isProtected = metadata?.finalizers?.includes(protection) === true;
  if (metadata?.deletionTimestamp !== undefined && !isProtected) refuse('PVC is being deleted');
  if (status?.phase !== 'Bound') refuse('PVC is not bound');
  if ((spec?.volumeName ?? '') === '') refuse('PVC has empty pvc.Spec.VolumeName');
}

/** A claim of the right name that was not created for this pod could hold another pod's data. */
function checkOwner(pod: Pod, { metadata }: PersistentVolumeClaim): void {
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.uid === pod.metadata?.uid && owner?.uid !== undefined) return;
  const { namespace = '', name = '' } = metadata ?? {};
  refuse(
    `PVC ${namespace}/${name} was not created for pod ${pod.metadata?.namespace ?? ''}/${pod.metadata?.name ?? ''} (pod is not owner)`,
  );
}

function checkBinding(persistent: PersistentVolume, claim: PersistentVolumeClaim): void {
  const reference = persistent.spec?.claimRef;
  const name = persistent.metadata?.name ?? '';
  if (reference === undefined)
    refuse(
      `found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  else if (reference.uid !== claim.metadata?.uid)
    refuse(
      `found PV object ${name} but its pv.Spec.ClaimRef.UID ${reference.uid ?? ''} does not point to claim.UID ${claim.metadata?.uid ?? ''}`,
    );
}

/** A Block volume cannot be used in volumeMounts, nor a Filesystem volume in volumeDevices. */
function checkMode(pod: Pod, { isBlock, name }: VolumeSpec): void {
  const uses = (list: 'volumeMounts' | 'volumeDevices'): boolean =>
    allContainers(pod).some((container) => (container[list] ?? []).some((each) => each.name === name));
  if (isBlock && uses('volumeMounts'))
    refuse(`volume ${name} has volumeMode Block, but is specified in volumeMounts`);
  if (!isBlock && uses('volumeDevices'))
    refuse(`volume ${name} has volumeMode Filesystem, but is specified in volumeDevices`);
}

function fromPersistent(name: string, persistent: PersistentVolume, readOnly: boolean): VolumeSpec {
  const { spec } = persistent;
  const { local, nfs, hostPath } = spec ?? {};
  return {
    name,
    directoryName: persistent.metadata?.name ?? '',
    source: {
      ...(local === undefined ? {} : { local }),
      ...(nfs === undefined ? {} : { nfs }),
      ...(hostPath === undefined ? {} : { hostPath }),
    },
    readOnly: readOnly || nfs?.readOnly === true,
    mountOptions: spec?.mountOptions ?? [],
    persistent,
    isBlock: spec?.volumeMode === 'Block',
  };
}

function refuse(message: string): never {
  throw new KubeletError('invalid', 'FailedMount', message);
}
