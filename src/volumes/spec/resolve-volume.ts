// Resolves a volume of a pod to what is mounted: a claim, referenced or generic ephemeral, leads to its persistent volume.
// Upstream: createVolumeSpec and getPVCExtractPV in volumemanager/populator.
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { translateInline, translatePersistent } from '../migration/translate.ts';
import type { VolumeSpec } from '../plugin.ts';

export type ClaimObjects = Pick<PodObjects, 'persistentVolume' | 'persistentVolumeClaim'>;

export async function resolveVolume(
  objects: ClaimObjects,
  pod: Pod,
  volume: Volume,
  signal: AbortSignal,
): Promise<VolumeSpec> {
  const { name } = volume;
  const claim = claimOf(pod, volume);
  if (claim === undefined) return ownVolume(pod, volume);
  const namespace = pod.metadata?.namespace ?? '';
  const describe = <T>(work: Promise<T>): Promise<T> =>
    described(`error processing PVC ${namespace}/${claim.claimName}`, work, signal);
  const bound = await describe(boundClaim(objects, namespace, claim.claimName, signal));
  if (claim.isEphemeral) checkOwner(pod, bound);
  const persistent = await describe(boundVolume(objects, bound, signal));
  const spec = fromPersistent(name, persistent, bound, claim.readOnly);
  checkMode(pod, spec);
  return spec;
}

async function boundClaim(
  objects: ClaimObjects,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  const fetched = objects.persistentVolumeClaim(namespace, name, signal);
  const claim = await described('failed to fetch PVC from API server', fetched, signal);
  checkClaim(claim);
  return claim;
}

async function boundVolume(
  objects: ClaimObjects,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<PersistentVolume> {
  const name = claim.spec?.volumeName ?? '';
  const fetched = objects.persistentVolume(name, signal);
  const persistent = await described(`failed to fetch PV ${name} from API server`, fetched, signal);
  checkBinding(persistent, claim);
  return persistent;
}

/** Puts the text in front of an error. An abort stays as it is. */
async function described<T>(what: string, work: Promise<T>, signal: AbortSignal): Promise<T> {
  return await work.catch((err: unknown) => {
    if (signal.aborted) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    throw new KubeletError(kind, 'FailedMount', `${what}: ${describeError(err)}`, { cause: err });
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

/** A volume that the pod itself defines. */
function ownVolume(pod: Pod, volume: Volume): VolumeSpec {
  const { name, ...source } = volume;
  const translated = translateInline(volume, pod.metadata?.namespace ?? '');
  return {
    name,
    // An Azure disk has the name of its resource, with slashes; upstream escapes it in paths.
    directoryName: (translated?.metadata?.name ?? name).replaceAll('/', '~'),
    source: translated === undefined ? source : {},
    readOnly: [source.nfs, source.csi, source.iscsi, source.fc, source.flexVolume].some(
      (each) => each?.readOnly === true,
    ),
    mountOptions: translated?.spec?.mountOptions ?? [],
    persistent: translated,
    isMigrated: translated !== undefined,
    isBlock: false,
  };
}

function fromPersistent(
  name: string,
  given: PersistentVolume,
  claim: PersistentVolumeClaim,
  readOnly: boolean,
): VolumeSpec {
  const translated = translatePersistent(given);
  const persistent = translated ?? given;
  const { local, nfs, hostPath } = persistent.spec ?? {};
  return {
    name,
    directoryName: persistent.metadata?.name ?? '',
    source: {
      ...(local === undefined ? {} : { local }),
      ...(nfs === undefined ? {} : { nfs }),
      ...(hostPath === undefined ? {} : { hostPath }),
    },
    readOnly: readOnly || nfs?.readOnly === true,
    mountOptions: mountOptionsOf(persistent),
    persistent,
    claim,
    isMigrated: translated !== undefined,
    isBlock: persistent.spec?.volumeMode === 'Block',
  };
}

const optionsAnnotation = 'volume.beta.kubernetes.io/mount-options';

/** The annotation beats the field, but for CSI, as upstream. */
function mountOptionsOf({ metadata, spec }: PersistentVolume): readonly string[] {
  const annotated = spec?.csi === undefined ? metadata?.annotations?.[optionsAnnotation] : undefined;
  return annotated === undefined ? (spec?.mountOptions ?? []) : annotated.split(',');
}

function refuse(message: string): never {
  throw new KubeletError('invalid', 'FailedMount', message);
}
