// Translates kubernetes.io/cinder. Pure. Upstream: staging/src/k8s.io/csi-translation-lib/plugins/openstack_cinder.go.
import type {
  CinderPersistentVolumeSource,
  CinderVolumeSource,
  CSIPersistentVolumeSource,
} from '../../api/k8s/types.ts';
import { csiSource } from './csi-source.ts';
import type { Translator } from './translator.ts';

type CinderSource = CinderPersistentVolumeSource | CinderVolumeSource;

const driver = 'cinder.csi.openstack.org';

export const cinder: Translator = {
  field: 'cinder',
  topology: { zone: 'topology.cinder.csi.openstack.org/zone' },
  persistent({ spec }) {
    const source = spec?.cinder;
    return source && { csi: translate(source) };
  },
  inline({ cinder: source }) {
    return (
      source && {
        csi: translate(source),
        name: `${driver}-${source.volumeID}`,
        accessMode: 'ReadWriteOnce',
      }
    );
  },
};

function translate({ volumeID, readOnly, fsType }: CinderSource): CSIPersistentVolumeSource {
  return csiSource({ driver, handle: volumeID, readOnly, fsType });
}
