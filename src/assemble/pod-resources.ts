// podresources on its socket below the root directory.
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { PodResourcesApi } from '../pod-resources/pod-resources-api.ts';
import { PodResourcesMetrics } from '../pod-resources/pod-resources-metrics.ts';
import type { ResourceViews } from '../pod-resources/resource-views.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface PodResourcesRooms {
  readonly stores: Pick<SharedStores, 'desired' | 'lifecycles'>;
  readonly views: ResourceViews;
  readonly metrics: Pick<KubeletMetrics, 'registry'>;
}

type PodResourcesInput = Pick<AssembleInput, 'clock' | 'edges' | 'flags' | 'gates' | 'log'>;

export function assemblePodResources(
  { clock, edges, flags, gates, log }: PodResourcesInput,
  { stores, views, metrics }: PodResourcesRooms,
): readonly Component[] {
  // Registered even if the gate is off, as upstream.
  const podResourcesMetrics = new PodResourcesMetrics(metrics.registry);
  // The gate of a single method guards the whole API, as upstream.
  if (!gates.KubeletPodResourcesGet) return [];
  const { desired, lifecycles } = stores;
  return [
    new PodResourcesApi({
      stores: { desired, lifecycles },
      views,
      listActivePods: gates.KubeletPodResourcesListUseActivePods,
      rootDir: flags.rootDir,
      listen: edges.listenGrpc,
      pause: edges.pause,
      metrics: podResourcesMetrics,
      clock,
      log: log.with({ component: 'pod-resources' }),
    }),
  ];
}
