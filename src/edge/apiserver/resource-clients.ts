// Clients per API resource over one ApiClient: paths, bodies and the rate limiter each resource counts against.

import { leaseNamespace } from '../../api/k8s/lease.ts';
import type { JsonObject } from '../../api/k8s/strategic-diff.ts';
import type {
  CSINode,
  Event,
  Lease,
  Node,
  PersistentVolumeClaim,
  Pod,
  Secret,
  VolumeAttachment,
} from '../../api/k8s/types.ts';
import { type ApiClient, type ApiLimiter, apiPath } from '../../api/ports/api-client.ts';

const heartbeat: { readonly limiter: ApiLimiter } = { limiter: 'heartbeats' };

export function eventPost(client: ApiClient) {
  const limiter = 'events';
  const path = (namespace: string, ...name: readonly string[]): string =>
    apiPath('api', 'v1', 'namespaces', namespace, 'events', ...name);
  return {
    create: (event: Event, signal: AbortSignal) =>
      client.create(path(event.metadata?.namespace ?? 'default'), event, { signal, limiter }),
    patch: (name: string, namespace: string, patch: object, signal: AbortSignal) =>
      client.patch(path(namespace, name), 'strategic', patch, { signal, limiter }),
  };
}

export function nodeApi(client: ApiClient, nodeName: string) {
  const path = apiPath('api', 'v1', 'nodes', nodeName);
  return {
    get: (signal: AbortSignal) => client.get<Node>(path, { signal, ...heartbeat }),
    create: (node: Node, signal: AbortSignal) => client.create<Node>('/api/v1/nodes', node, { signal }),
    patchStatus: (patch: JsonObject, signal: AbortSignal) =>
      client.patch<Node>(`${path}/status`, 'strategic', patch, { signal, ...heartbeat }),
  };
}

/** As the server reports it, unchecked. */
export function readServerVersion(client: ApiClient, signal: AbortSignal) {
  return client.get<Readonly<Record<string, unknown>>>('/version', { signal });
}

export function leaseApi(client: ApiClient, nodeName: string) {
  const leases = apiPath('apis', 'coordination.k8s.io', 'v1', 'namespaces', leaseNamespace, 'leases');
  const path = leases + apiPath(nodeName);
  return {
    get: (signal: AbortSignal) => client.get<Lease>(path, { signal, ...heartbeat }),
    create: (lease: Lease, signal: AbortSignal) =>
      client.create<Lease>(leases, lease, { signal, ...heartbeat }),
    update: (lease: Lease, signal: AbortSignal) =>
      client.update<Lease>(path, lease, { signal, ...heartbeat }),
    node: (signal: AbortSignal) =>
      client.get<Node>(apiPath('api', 'v1', 'nodes', nodeName), { signal, ...heartbeat }),
  };
}

export function podApi(client: ApiClient) {
  return {
    get: (pod: Pod, signal: AbortSignal) => client.get<Pod>(podPath(pod), { signal }),
    create: (pod: Pod, signal: AbortSignal) => client.create<Pod>(podsPath(pod), pod, { signal }),
    patchStatus: (pod: Pod, patch: JsonObject, signal: AbortSignal) =>
      client.patch<Pod>(`${podPath(pod)}/status`, 'strategic', patch, { signal }),
    delete: async (pod: Pod, signal: AbortSignal) => {
      const uid = pod.metadata?.uid;
      const preconditions = uid === undefined ? {} : { preconditions: { uid } };
      await client.delete(podPath(pod), { gracePeriodSeconds: 0, ...preconditions }, { signal });
    },
  };
}

/** The Node and CSINode objects of this node, as the registration of CSI drivers writes them. */
export function nodeInfoApi(client: ApiClient, nodeName: string) {
  const csiNodes = apiPath('apis', 'storage.k8s.io', 'v1', 'csinodes');
  const csiNode = csiNodes + apiPath(nodeName);
  const node = apiPath('api', 'v1', 'nodes', nodeName);
  return {
    node: (signal: AbortSignal) => client.get<Node>(node, { signal }),
    patchNode: (patch: JsonObject, signal: AbortSignal) =>
      client.patch<Node>(`${node}/status`, 'strategic', patch, { signal }),
    /** The server may answer from its watch cache. */
    csiNodeFromCache: (signal: AbortSignal) =>
      client.get<CSINode>(csiNode, { signal, query: { resourceVersion: '0' } }),
    csiNode: (signal: AbortSignal) => client.get<CSINode>(csiNode, { signal }),
    createCsiNode: (object: CSINode, signal: AbortSignal) =>
      client.create<CSINode>(csiNodes, object, { signal }),
    updateCsiNode: (object: CSINode, signal: AbortSignal) =>
      client.update<CSINode>(csiNode, object, { signal }),
    updateCsiNodeStatus: (object: CSINode, signal: AbortSignal) =>
      client.update<CSINode>(`${csiNode}/status`, object, { signal }),
    deleteCsiNode: async (uid: string | undefined, signal: AbortSignal) => {
      await client.delete(csiNode, uid === undefined ? {} : { preconditions: { uid } }, { signal });
    },
  };
}

/** Read from the API server on every call. */
export function storageApi(client: ApiClient) {
  const namespaced = (namespace: string, ...rest: readonly string[]): string =>
    apiPath('api', 'v1', 'namespaces', namespace, ...rest);
  return {
    volumeAttachment: (name: string, signal: AbortSignal) =>
      client.get<VolumeAttachment>(apiPath('apis', 'storage.k8s.io', 'v1', 'volumeattachments', name), {
        signal,
      }),
    secret: (namespace: string, name: string, signal: AbortSignal) =>
      client.get<Secret>(namespaced(namespace, 'secrets', name), { signal }),
    patchClaimStatus: (namespace: string, name: string, patch: JsonObject, signal: AbortSignal) =>
      client.patch<PersistentVolumeClaim>(
        namespaced(namespace, 'persistentvolumeclaims', name, 'status'),
        'strategic',
        patch,
        { signal },
      ),
  };
}

function podsPath({ metadata }: Pod): string {
  return apiPath('api', 'v1', 'namespaces', metadata?.namespace ?? 'default', 'pods');
}

function podPath(pod: Pod): string {
  return podsPath(pod) + apiPath(pod.metadata?.name ?? '');
}
