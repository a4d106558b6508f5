// The certificates of pods: requested from the API server, or none on a standalone node or with the gate off.
import { noPodCertificates, type PodCertificates } from '../api/ports/pod-certificates.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { Store } from '../base/store.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { measureCertificateStates } from '../pod-certificates/certificate-states.ts';
import { RequestCreator } from '../pod-certificates/create-request.ts';
import { NodeRequests } from '../pod-certificates/node-requests.ts';
import { PodCertificateManager } from '../pod-certificates/pod-certificates.ts';
import { PodCredentials } from '../pod-certificates/pod-credentials.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface PodCertificateRooms {
  readonly api: ClusterApi | undefined;
  readonly stores: SharedStores;
  readonly objects: PodObjects;
  readonly events: EventRecorder;
  readonly metrics: KubeletMetrics;
}

interface AssembledPodCertificates {
  readonly certificates: PodCertificates;
  readonly components: readonly PodCertificateManager[];
  readonly stores: readonly Store[];
}

export function assemblePodCertificates(
  input: Pick<AssembleInput, 'clock' | 'edges' | 'gates' | 'log' | 'nodeName' | 'random'>,
  { api, stores, objects, events, metrics }: PodCertificateRooms,
): AssembledPodCertificates {
  const { clock, edges, gates, log, nodeName, random } = input;
  if (api === undefined || !gates.PodCertificateRequest)
    return { certificates: noPodCertificates, components: [], stores: [] };
  const { desired, lifecycles, ownNode } = stores;
  const credentials = new PodCredentials();
  const requests = new NodeRequests({ credentials });
  const creator = new RequestCreator({
    client: api.client,
    objects,
    node: { name: nodeName, own: ownNode },
    generateKey: edges.podKey,
    clock,
    random,
  });
  const manager = new PodCertificateManager({
    pods: { desired, lifecycles },
    credentials,
    requests,
    watch: { follow: api.follow, nodeName },
    creator,
    events,
    time: { clock, random },
    log: log.with({ component: 'pod-certificates' }),
  });
  measureCertificateStates({ registry: metrics.registry, desired, credentials, clock });
  return { certificates: credentials, components: [manager], stores: [credentials, requests] };
}
