// Translates an in-tree volume to the PersistentVolume of the CSI driver that serves it now. Pure.
// Invariant: inputs are never changed, and errors are upstream's texts.
// Upstream: TranslateInTreeSpecToCSI in pkg/volume/csimigration, staging/src/k8s.io/csi-translation-lib/translate.go.
import { migratedFields } from '../../api/k8s/migrated-plugins.ts';
import type { PersistentVolume, Volume } from '../../api/k8s/types.ts';
import { awsEbs } from './aws-ebs.ts';
import { azureDisk } from './azure-disk.ts';
import { azureFile } from './azure-file.ts';
import { cinder } from './cinder.ts';
import { gcePersistentDisk } from './gce-pd.ts';
import { portworx } from './portworx.ts';
import { translateTopology } from './topology.ts';
import type { Translator } from './translator.ts';
import { untranslatable } from './untranslatable.ts';
import { vsphere } from './vsphere.ts';

const translators: readonly Translator[] = [
  awsEbs,
  azureDisk,
  azureFile,
  cinder,
  gcePersistentDisk,
  portworx,
  vsphere,
];

/** Undefined: the volume is of another kind. Throws a KubeletError if it is of such a kind and has no translation. */
export function translatePersistent(volume: PersistentVolume): PersistentVolume | undefined {
  for (const translator of translators) {
    const translation = translator.persistent(volume);
    if (!translation) continue;
    const { csi, accessModes } = translation;
    const spec = { ...volume.spec, csi };
    delete spec[translator.field];
    if (accessModes !== undefined) spec.accessModes = [...accessModes];
    const affinity = translator.topology && translateTopology(volume, translator.topology);
    if (affinity !== undefined) spec.nodeAffinity = affinity;
    return { ...volume, spec };
  }
  return undefined;
}

/**
 * The volume of a pod's spec as a PersistentVolume that is not in the API: it has a name, a source, an access mode and the volume
 * mode. Undefined: the volume is of another kind. Throws a KubeletError if it is of such a kind and has no translation.
 */
export function translateInline(volume: Volume, podNamespace: string): PersistentVolume | undefined {
  for (const translator of translators) {
    const translation = translator.inline(volume, podNamespace);
    if (!translation) continue;
    const { csi, name, accessMode } = translation;
    // The name becomes a directory. The API server admits no disk with such a name.
    if (name === '' || name === '.' || name === '..')
      throw untranslatable(`the disk of volume ${volume.name} has no usable name`);
    return {
      metadata: { name },
      spec: { csi, accessModes: [accessMode], volumeMode: 'Filesystem' },
    };
  }
  return undefined;
}

/** Whether translateInline() translates a volume of this source, valid or not. */
export function isMigratable(source: Readonly<Record<string, unknown>> | Volume): boolean {
  return Object.entries(source).some(
    ([field, value]) => migratedFields.has(field) && value !== undefined && value !== null,
  );
}
