// A CSI volume of a pod's spec or of a PersistentVolume, in one form. Pure.
// Upstream: getSourceFromSpec and NewMounter of the csi plugin.
import type { Pod, SecretReference } from '../../api/k8s/types.ts';
import type { VolumeSpec } from '../plugin.ts';
import { refuse } from './failure.ts';
import { type CsiVolumeId, inlineHandle, isDriverName, isHandle } from './names.ts';

export interface CsiVolume extends CsiVolumeId {
  /** Defined in the pod's spec: neither attached nor staged. */
  readonly isEphemeral: boolean;
  readonly fsType: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Empty if a PersistentVolume has none, and for an inline volume. */
  readonly accessModes: readonly string[];
  readonly mountFlags: readonly string[];
  readonly readOnly: boolean;
  readonly stageSecret: SecretReference | undefined;
  readonly publishSecret: SecretReference | undefined;
  readonly expandSecret: SecretReference | undefined;
}

export function isCsi({ persistent, source }: VolumeSpec): boolean {
  return persistent === undefined ? source.csi !== undefined : persistent.spec?.csi !== undefined;
}

/** Undefined for a volume of another kind. */
export function driverOf({ persistent, source }: VolumeSpec): string | undefined {
  return (persistent === undefined ? source.csi : persistent.spec?.csi)?.driver;
}

/** Of a PersistentVolume; undefined for an inline volume. */
export function idOf({ persistent }: VolumeSpec): CsiVolumeId | undefined {
  const { csi } = persistent?.spec ?? {};
  return csi === undefined ? undefined : { driver: csi.driver, handle: csi.volumeHandle };
}

export function computeCsiVolume(pod: Pod, spec: VolumeSpec): CsiVolume {
  const volume = spec.persistent === undefined ? inlineVolume(pod, spec) : persistentVolume(spec);
  if (!isDriverName(volume.driver)) refuse(`the CSI driver name ${shown(volume.driver)} is not valid`);
  if (!isHandle(volume.handle)) refuse(`the CSI volume handle ${shown(volume.handle)} is not valid`);
  return volume;
}

function persistentVolume({ persistent, readOnly }: VolumeSpec): CsiVolume {
  const { accessModes = [], csi, mountOptions = [] } = persistent?.spec ?? {};
  if (csi === undefined) return refuse('volume source not found in volume.Spec');
  return {
    driver: csi.driver,
    handle: csi.volumeHandle,
    isEphemeral: false,
    fsType: csi.fsType ?? '',
    attributes: csi.volumeAttributes ?? {},
    accessModes,
    mountFlags: mountOptions,
    readOnly,
    stageSecret: csi.nodeStageSecretRef,
    publishSecret: csi.nodePublishSecretRef,
    expandSecret: csi.nodeExpandSecretRef,
  };
}

function inlineVolume({ metadata }: Pod, { name, source: { csi } }: VolumeSpec): CsiVolume {
  if (csi === undefined) return refuse('volume source not found in volume.Spec');
  const secret = csi.nodePublishSecretRef;
  return {
    driver: csi.driver,
    handle: inlineHandle(metadata?.uid ?? '', name),
    isEphemeral: true,
    fsType: csi.fsType ?? '',
    attributes: csi.volumeAttributes ?? {},
    accessModes: [],
    mountFlags: [],
    readOnly: csi.readOnly === true,
    stageSecret: undefined,
    publishSecret:
      secret === undefined
        ? undefined
        : {
            namespace: metadata?.namespace ?? '',
            ...(secret.name === undefined ? {} : { name: secret.name }),
          },
    expandSecret: undefined,
  };
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 256));
}
