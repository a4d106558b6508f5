// The cluster that the recordings were made in, as far as a pod asks for it: one service, and the objects of the scenario.
import { Buffer } from 'node:buffer';
import type { ConfigMap, Secret, Service } from '../../api/k8s.ts';
import type { PodObjects } from '../../api/pod-objects.ts';
import { KubeletError } from '../../base/errors.ts';

const kubernetes: Service = {
  metadata: { name: 'kubernetes', namespace: 'default' },
  spec: {
    clusterIP: '10.96.0.1',
    clusterIPs: ['10.96.0.1'],
    type: 'ClusterIP',
    ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
  },
};

const lifeMs = 3_600_000;

export function replayCluster(given: readonly (ConfigMap | Secret)[]): PodObjects {
  const find = <T extends ConfigMap | Secret>(kind: string, namespace: string, name: string): Promise<T> => {
    const found = given.find((object) => object.kind === kind && object.metadata?.name === name);
    if (found !== undefined) return Promise.resolve(asStored(found, namespace) as T);
    return Promise.reject(
      new KubeletError('not-found', 'NotFound', `${kind.toLowerCase()} "${name}" not found`),
    );
  };
  const none = (): Promise<never> => Promise.reject(new KubeletError('not-found', 'NotFound', 'not found'));
  return {
    configMap: (namespace, name) => find('ConfigMap', namespace, name),
    secret: (namespace, name) => find('Secret', namespace, name),
    services: () => Promise.resolve([kubernetes]),
    runtimeClass: none,
    serviceAccount: (namespace, name) => Promise.resolve({ metadata: { namespace, name } }),
    serviceAccountToken: (_namespace, _name, request) =>
      Promise.resolve({
        ...request,
        status: {
          token: 'token',
          expirationTimestamp: new Date(Date.UTC(2026, 10, 15) + lifeMs).toISOString(),
        },
      }),
    persistentVolumeClaim: none,
    persistentVolume: none,
    node: none,
    registerPod: () => undefined,
    unregisterPod: () => undefined,
    changed: { subscribe: () => () => undefined },
  };
}

/** The API server keeps a secret's texts as data. */
function asStored(object: ConfigMap | Secret, namespace: string): ConfigMap | Secret {
  const stored = { ...object, metadata: { ...object.metadata, namespace, resourceVersion: '1' } };
  if (!('stringData' in stored)) return stored;
  const { stringData = {}, ...rest } = stored;
  const data = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return { ...rest, data: Object.fromEntries(data) };
}
