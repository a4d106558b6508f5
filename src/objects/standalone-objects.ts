// What a node without an API server answers to who asks for a cluster's objects: there are none.
// Upstream: the kubelet with no kubeClient (kubelet_pods.go): services are an empty list, everything else is refused.
import type { PodObjects } from '../api/ports/pod-objects.ts';
import { KubeletError } from '../base/errors.ts';

function refused(what: string): Promise<never> {
  return Promise.reject(
    new KubeletError('unavailable', 'NoApiServer', `couldn't get ${what}, no kubeClient defined`),
  );
}

export const standaloneObjects: PodObjects = {
  configMap: (namespace, name) => refused(`configMap ${namespace}/${name}`),
  secret: (namespace, name) => refused(`secret ${namespace}/${name}`),
  services: () => Promise.resolve([]),
  // differs from upstream: a pod that asks for a runtime class is not run without it.
  runtimeClass: (name) => refused(`runtimeClass ${name}`),
  serviceAccount: (namespace, name) => refused(`serviceAccount ${namespace}/${name}`),
  serviceAccountToken: (namespace, name) => refused(`service account token of ${namespace}/${name}`),
  persistentVolumeClaim: (namespace, name) => refused(`persistentVolumeClaim ${namespace}/${name}`),
  persistentVolume: (name) => refused(`persistentVolume ${name}`),
  trustAnchors: () =>
    Promise.reject(
      new KubeletError(
        'unavailable',
        'NoApiServer',
        'ClusterTrustBundle projection is not supported in static kubelet mode',
      ),
    ),
  node: () => refused('node'),
  registerPod: () => undefined,
  unregisterPod: () => undefined,
  changed: { subscribe: () => () => undefined },
};
