// From a volume of a pod to what is really mounted: claims, written out or made for this pod, are followed to their volume.
// Upstream: createVolumeSpec and getPVCExtractPV in volumemanager/populator.
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../api/k8s.ts';
import type { PodObjects } from '../api/pod-objects.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import type { VolumeSpec } from './plugin.ts';

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
    };
  const namespace = pod.metadata?.namespace ?? '';
  try {
    const bound = await objects.persistentVolumeClaim(namespace, claim.claimName, signal);
    checkClaim(bound);
    if (claim.madeForPod) checkOwner(pod, bound);
    const persistent = await objects.persistentVolume(bound.spec?.volumeName ?? '', signal);
    checkBinding(persistent, bound);
    return fromPersistent(name, persistent, claim.readOnly);
  } catch (err) {
    if (signal.aborted) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const message = `error processing PVC ${namespace}/${claim.claimName}: ${describeError(err)}`;
    throw new KubeletError(kind, 'FailedMount', message, { cause: err });
  }
}

interface ClaimReference {
  readonly claimName: string;
  readonly readOnly: boolean;
  readonly madeForPod: boolean;
}

function claimOf(pod: Pod, volume: Volume): ClaimReference | undefined {
  const { persistentVolumeClaim: claim, ephemeral } = volume;
  if (claim !== undefined)
    return { claimName: claim.claimName, readOnly: claim.readOnly === true, madeForPod: false };
  if (ephemeral === undefined) return undefined;
  return { claimName: `${pod.metadata?.name ?? ''}-${volume.name}`, readOnly: false, madeForPod: true };
}

const protection = 'kubernetes.io/pvc-protection';

function checkClaim({ metadata, spec, status }: PersistentVolumeClaim): void {
  const isProtected = metadata?.finalizers?.includes(protection) === true;
  if (metadata?.deletionTimestamp !== undefined && !isProtected) refuse('PVC is being deleted');
  if (status?.phase !== 'Bound') refuse('PVC is not bound');
  if ((spec?.volumeName ?? '') === '') refuse('PVC has empty pvc.Spec.VolumeName');
}

/** A claim of the right name that somebody else made could hold somebody else's data. */
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
  if (reference === undefined) refuse(`PersistentVolume object ${name} has nil claimRef`);
  else if (reference.uid !== claim.metadata?.uid)
    refuse(
      `PersistentVolume ${name} claimRef UID "${reference.uid ?? ''}" does not match PVC UID "${claim.metadata?.uid ?? ''}"`,
    );
}

function fromPersistent(name: string, persistent: PersistentVolume, readOnly: boolean): VolumeSpec {
  const { spec } = persistent;
  if (spec?.volumeMode === 'Block')
    refuse(`volume ${name} has volumeMode Block, but is specified in volumeMounts`);
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
  };
}

function refuse(message: string): never {
  throw new KubeletError('invalid', 'FailedMount', message);
}
