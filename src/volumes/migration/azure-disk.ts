// Translates kubernetes.io/azure-disk. Pure. Upstream: staging/src/k8s.io/csi-translation-lib/plugins/azure_disk.go.
import type { AzureDiskVolumeSource, CSIPersistentVolumeSource } from '../../api/k8s/types.ts';
import { isPresent } from '../../base/guards.ts';
import { csiSource } from './csi-source.ts';
import type { Translator } from './translator.ts';
import { quotation, untranslatable } from './untranslatable.ts';

const driver = 'disk.csi.azure.com';
const managed = 'Managed';

export const azureDisk: Translator = {
  field: 'azureDisk',
  persistent({ spec }) {
    const source = spec?.azureDisk;
    return source && { csi: translate(source, source.cachingMode ?? undefined) };
  },
  inline({ azureDisk: source }) {
    if (!source) return undefined;
    // Unlike that of a PersistentVolume, an empty mode is left out.
    const csi = translate(source, source.cachingMode || undefined);
    return { csi, name: source.diskURI, accessMode: 'ReadWriteOnce' };
  },
};

function translate(
  source: AzureDiskVolumeSource,
  cachingMode: string | undefined,
): CSIPersistentVolumeSource {
  const { diskURI, fsType, readOnly } = source;
  const kind = source.kind ?? managed;
  if (kind.toLowerCase() !== managed.toLowerCase())
    throw untranslatable(`kind(${quotation(kind)}) is not supported in csi migration`);
  const attributes = {
    kind: managed,
    ...(cachingMode !== undefined && { cachingmode: cachingMode }),
    ...(isPresent(fsType) && { fstype: fsType }),
  };
  return csiSource({ driver, handle: diskURI, readOnly, fsType, attributes });
}
