// The StorageObjects of a node without an API server: every request is rejected.
// Upstream: pkg/volume/csi with no kubeClient.
import type { StorageObjects } from '../api/ports/storage-objects.ts';
import { KubeletError } from '../base/errors.ts';

function noClient(what: string): Promise<never> {
  return Promise.reject(
    new KubeletError('unavailable', 'NoApiServer', `couldn't get ${what}, no kubeClient defined`),
  );
}

export const standaloneStorage: StorageObjects = {
  csiDriver: (name) => noClient(`CSIDriver ${name}`),
  knownCsiDriver: () => 'unknown',
  csiDriversChanged: { subscribe: () => () => undefined },
  volumeAttachment: (name) => noClient(`VolumeAttachment ${name}`),
  volumeSecret: (namespace, name) => noClient(`secret ${namespace}/${name}`),
  patchClaimStatus: (namespace, name) => noClient(`persistentVolumeClaim ${namespace}/${name}`),
};
