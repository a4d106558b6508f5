// The PodObjects of a node without an API server: no Services, and an error for everything else.
// Upstream: the kubelet with no kubeClient (kubelet_pods.go).
import type { PodObjects } from '../api/ports/pod-objects.ts';
import { KubeletError } from '../base/errors.ts';

function noClient(what: string): Promise<never> {
  return Promise.reject(
    new KubeletError('unavailable', 'NoApiServer', `couldn't get ${what}, no kubeClient defined`),
  );
}

export const standaloneObjects: PodObjects = {
  configMap: (namespace, name) => noClient(`configMap ${namespace}/${name}`),
  secret: (namespace, name) => noClient(`secret ${namespace}/${name}`),
  services: () => Promise.resolve([]),
  // differs from upstream: a pod with a RuntimeClass is not run without it.
  runtimeClass: (name) => noClient(`runtimeClass ${name}`),
  serviceAccount: (namespace, name) => noClient(`serviceAccount ${namespace}/${name}`),
  serviceAccountToken: (namespace, name) => noClient(`service account token of ${namespace}/${name}`),
  persistentVolumeClaim: (namespace, name) => noClient(`persistentVolumeClaim ${namespace}/${name}`),
  persistentVolume: (name) => noClient(`persistentVolume ${name}`),
  trustAnchors: () =>
    Promise.reject(
      new KubeletError(
        'unavailable',
        'NoApiServer',
        'ClusterTrustBundle projection is not supported in static kubelet mode',
      ),
    ),
  node: () => noClient('node'),
  registerPod: () => undefined,
  unregisterPod: () => undefined,
  changed: { subscribe: () => () => undefined },
};
