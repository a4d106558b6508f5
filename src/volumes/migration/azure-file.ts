// Translates kubernetes.io/azure-file. Pure. Upstream: staging/src/k8s.io/csi-translation-lib/plugins/azure_file.go.
import type { AzureFileVolumeSource, CSIPersistentVolumeSource } from '../../api/k8s/types.ts';
import { csiSource, isSet, secretReference } from './csi-source.ts';
import type { Translator } from './translator.ts';
import { untranslatable } from './untranslatable.ts';

const driver = 'file.csi.azure.com';
const groupAnnotation = 'kubernetes.io/azure-file-resource-group';
const secretPrefix = 'azure-storage-account-';
const secretSuffix = '-secret';

export const azureFile: Translator = {
  field: 'azureFile',
  persistent({ metadata, spec }) {
    const source = spec?.azureFile;
    if (!source) return undefined;
    const namespace = source.secretNamespace ?? spec?.claimRef?.namespace;
    if (!isSet(namespace))
      throw untranslatable('could not find a secret namespace in PersistentVolumeSource or ClaimRef');
    const group = metadata?.annotations?.[groupAnnotation] ?? '';
    return { csi: translate(source, { group, name: metadata?.name ?? '', namespace }) };
  },
  inline(volume, podNamespace) {
    const { azureFile: source, name } = volume;
    if (!source) return undefined;
    const namespace = podNamespace === '' ? 'default' : podNamespace;
    const csi = translate(source, { group: '', name, namespace });
    return { csi, name: csi.volumeHandle, accessMode: 'ReadWriteMany' };
  },
};

interface Origin {
  readonly group: string;
  /** Of the PersistentVolume, or of the pod's volume. */
  readonly name: string;
  readonly namespace: string;
}

function translate(
  { secretName, shareName, readOnly }: AzureFileVolumeSource,
  { group, name, namespace }: Origin,
): CSIPersistentVolumeSource {
  return csiSource({
    driver,
    handle: [group, accountOf(secretName), shareName, name, namespace].join('#'),
    readOnly,
    attributes: { sharename: shareName },
    stageSecret: secretReference(secretName, namespace),
  });
}

/** The part between prefix and suffix of the first line that has both; otherwise the whole name. */
function accountOf(secretName: string): string {
  for (const line of secretName.split('\n')) {
    const from = line.indexOf(secretPrefix) + secretPrefix.length;
    const to = line.lastIndexOf(secretSuffix);
    if (from >= secretPrefix.length && to > from) return line.slice(from, to);
  }
  return secretName;
}
