// What follows from a CSIDriver object: whether the driver supports a volume, whether the kubelet applies the fsGroup, and the
// volume context. Pure. Upstream: supportsVolumeLifecycleMode, getFSGroupPolicy, supportsFSGroup, getPodInfoAttrs of the csi plugin.
import type { CSIDriver, Pod } from '../../api/k8s/types.ts';
import type { CsiVolume } from './csi-volume.ts';

/** Why the driver does not support volumes of this kind; undefined if it does. */
export function computeUnsupportedMode(
  { driver, isEphemeral }: Pick<CsiVolume, 'driver' | 'isEphemeral'>,
  object: CSIDriver | undefined,
): string | undefined {
  const mode = isEphemeral ? 'Ephemeral' : 'Persistent';
  const text = `volume mode "${mode}" not supported by driver ${driver}`;
  if (object === undefined) return isEphemeral ? `${text} (no CSIDriver object)` : undefined;
  const supported = object.spec.volumeLifecycleModes ?? ['Persistent'];
  if (supported.includes(mode)) return undefined;
  return `${text} (only supports [${supported.map((each) => JSON.stringify(each)).join(' ')}])`;
}

/** Empty: the object is not valid. */
export function computeFsGroupPolicy(object: CSIDriver | undefined): string {
  return object?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
}

/** Whether the kubelet applies the fsGroup to the files of a volume. */
export function shouldApplyFsGroup(
  { accessModes, fsType, isEphemeral, readOnly }: CsiVolume,
  policy: string,
  {
    fsGroup,
    isAppliedByDriver,
  }: { readonly fsGroup: number | undefined; readonly isAppliedByDriver: boolean },
): boolean {
  if (fsGroup === undefined || isAppliedByDriver || readOnly || policy === 'None') return false;
  if (policy === 'File') return true;
  if (fsType === '') return false;
  return isEphemeral || accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
}

/** The volume context of a publish request. Always a new object: the attributes belong to a cached API object. */
export function computeVolumeContext(
  { attributes, isEphemeral }: Pick<CsiVolume, 'attributes' | 'isEphemeral'>,
  pod: Pod,
  object: CSIDriver | undefined,
): Record<string, string> {
  if (object?.spec.podInfoOnMount !== true) return { ...attributes };
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
  return {
    ...attributes,
    'csi.storage.k8s.io/pod.name': name,
    'csi.storage.k8s.io/pod.namespace': namespace,
    'csi.storage.k8s.io/pod.uid': uid,
    'csi.storage.k8s.io/serviceAccount.name': pod.spec?.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(isEphemeral),
  };
}
