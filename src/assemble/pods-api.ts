// The Pods API on its socket below the root directory.
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { PodsApi } from '../pods-api/pods-api.ts';
import { PodsApiMetrics } from '../pods-api/pods-api-metrics.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface PodsApiRooms {
  readonly stores: Pick<SharedStores, 'desired' | 'statuses' | 'lifecycles'>;
  readonly metrics: Pick<KubeletMetrics, 'registry'>;
}

type PodsApiInput = Pick<AssembleInput, 'clock' | 'edges' | 'flags' | 'gates' | 'log'>;

export function assemblePodsApi(
  { clock, edges, flags, gates, log }: PodsApiInput,
  { stores, metrics }: PodsApiRooms,
): readonly Component[] {
  // Registered even if the gate is off, as upstream.
  const podsApiMetrics = new PodsApiMetrics(metrics.registry);
  if (!gates.PodsAPI) return [];
  const { desired, lifecycles, statuses } = stores;
  return [
    new PodsApi({
      stores: { desired, statuses, lifecycles },
      rootDir: flags.rootDir,
      listen: edges.listenGrpc,
      pause: edges.pause,
      metrics: podsApiMetrics,
      clock,
      log: log.with({ component: 'pods-api' }),
    }),
  ];
}
