// Translates kubernetes.io/vsphere-volume. Pure. Upstream: staging/src/k8s.io/csi-translation-lib/plugins/vsphere_volume.go.
import type { CSIPersistentVolumeSource, VsphereVirtualDiskVolumeSource } from '../../api/k8s/types.ts';
import { csiSource, isSet } from './csi-source.ts';
import type { Translator } from './translator.ts';

const driver = 'csi.vsphere.vmware.com';

export const vsphere: Translator = {
  field: 'vsphereVolume',
  topology: { zone: 'topology.csi.vmware.com/zone', region: 'topology.csi.vmware.com/region' },
  persistent({ spec }) {
    const source = spec?.vsphereVolume;
    return source && { csi: translate(source) };
  },
  // differs from upstream: a storage policy in a pod's spec, which crashes the Go kubelet, is passed on like that of a
  // PersistentVolume.
  inline({ vsphereVolume: source }) {
    return (
      source && {
        csi: translate(source),
        name: `${driver}-${source.volumePath}`,
        accessMode: 'ReadWriteOnce',
      }
    );
  },
};

function translate(source: VsphereVirtualDiskVolumeSource): CSIPersistentVolumeSource {
  const { volumePath, fsType, storagePolicyName: policy } = source;
  const attributes = isSet(policy) ? { storagepolicyname: policy } : {};
  return csiSource({ driver, handle: volumePath, fsType, attributes });
}
