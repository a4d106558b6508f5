// The API server as each feature asks for it: paths, bodies and whose rate limit, over one client.

import type { Lease, Node, Pod } from '../api/k8s/types.ts';
import { type ApiClient, type ApiLimiter, apiPath } from '../api/ports/api-client.ts';
import type { EventPost } from '../events/event-sender.ts';
import { type LeaseApi, leaseNamespace } from '../node/node-lease.ts';
import type { NodeApi } from '../node/node-status-loop.ts';
import type { MirrorPodsDeps } from '../pods/mirror-pods.ts';
import type { PodStatusApi } from '../status/push/status-pusher.ts';

const heartbeat: { readonly limiter: ApiLimiter } = { limiter: 'heartbeats' };

export function eventPost(client: ApiClient): EventPost {
  const limiter = 'events';
  const path = (namespace: string, ...name: readonly string[]): string =>
    apiPath('api', 'v1', 'namespaces', namespace, 'events', ...name);
  return {
    create: (event, signal) =>
      client.create(path(event.metadata?.namespace ?? 'default'), event, { signal, limiter }),
    patch: (name, namespace, patch, signal) =>
      client.patch(path(namespace, name), 'strategic', patch, { signal, limiter }),
  };
}

export function nodeApi(client: ApiClient, nodeName: string): NodeApi {
  const path = apiPath('api', 'v1', 'nodes', nodeName);
  return {
    get: (signal) => client.get<Node>(path, { signal, ...heartbeat }),
    create: (node, signal) => client.create<Node>('/api/v1/nodes', node, { signal }),
    patchStatus: (patch, signal) =>
      client.patch<Node>(`${path}/status`, 'strategic', patch, { signal, ...heartbeat }),
  };
}

export function leaseApi(client: ApiClient, nodeName: string): LeaseApi {
  const leases = apiPath('apis', 'coordination.k8s.io', 'v1', 'namespaces', leaseNamespace, 'leases');
  const path = leases + apiPath(nodeName);
  return {
    get: (signal) => client.get<Lease>(path, { signal, ...heartbeat }),
    create: (lease, signal) => client.create<Lease>(leases, lease, { signal, ...heartbeat }),
    update: (lease, signal) => client.update<Lease>(path, lease, { signal, ...heartbeat }),
    node: (signal) => client.get<Node>(apiPath('api', 'v1', 'nodes', nodeName), { signal, ...heartbeat }),
  };
}

export function podApi(client: ApiClient): PodStatusApi & MirrorPodsDeps['api'] {
  return {
    get: (pod, signal) => client.get<Pod>(podPath(pod), { signal }),
    create: (pod, signal) => client.create<Pod>(podsPath(pod), pod, { signal }),
    patchStatus: (pod, patch, signal) =>
      client.patch<Pod>(`${podPath(pod)}/status`, 'strategic', patch, { signal }),
    delete: async (pod, signal) => {
      const uid = pod.metadata?.uid;
      const preconditions = uid === undefined ? {} : { preconditions: { uid } };
      await client.delete(podPath(pod), { gracePeriodSeconds: 0, ...preconditions }, { signal });
    },
  };
}

function podsPath({ metadata }: Pod): string {
  return apiPath('api', 'v1', 'namespaces', metadata?.namespace ?? 'default', 'pods');
}

function podPath(pod: Pod): string {
  return podsPath(pod) + apiPath(pod.metadata?.name ?? '');
}
