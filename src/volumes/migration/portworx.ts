// Translates kubernetes.io/portworx-volume. Pure. Upstream: staging/src/k8s.io/csi-translation-lib/plugins/portworx.go.
import { csiSource, secretReference } from './csi-source.ts';
import type { Translator } from './translator.ts';

const driver = 'pxd.portworx.com';
const secretName = 'openstorage.io/auth-secret-name';
const secretNamespace = 'openstorage.io/auth-secret-namespace';

export const portworx: Translator = {
  field: 'portworxVolume',
  persistent({ metadata, spec }) {
    const source = spec?.portworxVolume;
    if (!source) return undefined;
    const { volumeID: handle, fsType } = source;
    return { csi: { ...csiSource({ driver, handle, fsType }), ...secretsOf(metadata?.annotations ?? {}) } };
  },
  inline({ portworxVolume: source }) {
    if (!source) return undefined;
    const { volumeID: handle, fsType, readOnly } = source;
    return {
      csi: csiSource({ driver, handle, fsType }),
      name: `${driver}-${handle}`,
      accessMode: readOnly === true ? 'ReadOnlyMany' : 'ReadWriteOnce',
    };
  },
};

/** One secret serves every operation of the driver. */
function secretsOf(annotations: Readonly<Record<string, string>>) {
  const name = annotations[secretName];
  const namespace = annotations[secretNamespace];
  if (name === undefined || namespace === undefined) return {};
  const reference = () => secretReference(name, namespace);
  return {
    controllerPublishSecretRef: reference(),
    nodeStageSecretRef: reference(),
    nodePublishSecretRef: reference(),
    controllerExpandSecretRef: reference(),
    nodeExpandSecretRef: reference(),
  };
}
