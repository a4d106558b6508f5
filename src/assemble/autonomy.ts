// Autonomy while the control plane cannot be reached: the connection to the API server that records and answers from disk.
import { join } from 'node:path';
import type { EventSink } from '../api/ports/events.ts';
import { AutonomyReport } from '../autonomy/autonomy-report.ts';
import { ControlPlane } from '../autonomy/control-plane.ts';
import { ForgetKept } from '../autonomy/forget-kept.ts';
import { keptClient } from '../autonomy/kept-client.ts';
import { keptFollow } from '../autonomy/kept-follow.ts';
import { secretKinds } from '../autonomy/kept-kinds.ts';
import { KeptState } from '../autonomy/kept-state.ts';
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface AutonomyRooms {
  readonly api: ClusterApi | undefined;
  readonly stores: SharedStores;
  readonly metrics: KubeletMetrics;
  /** Called after everything is assembled: events are sent through the decorated connection. */
  readonly events: () => EventSink;
}

interface Autonomy {
  readonly api: ClusterApi | undefined;
  /** Started before everything that reads from the API server. */
  readonly components: readonly Component[];
}

/** With --autonomy=Off, and on a standalone node, the connection is returned as it is. */
export function assembleAutonomy(
  {
    clock,
    edges,
    flags,
    log: baseLog,
    nodeName,
  }: Pick<AssembleInput, 'clock' | 'edges' | 'flags' | 'log' | 'nodeName'>,
  { api, events, metrics, stores }: AutonomyRooms,
): Autonomy {
  const log = baseLog.with({ component: 'autonomy' });
  const keepSecrets = flags.autonomy === 'WithSecrets';
  const records = edges.keptRecords({
    directory: join(flags.rootDir, 'autonomy'),
    nodeName,
    sealedKinds: secretKinds,
    log,
  });
  if (api === undefined || flags.autonomy === 'Off')
    return { api, components: [new ForgetKept({ autonomy: flags.autonomy, records, log })] };
  const plane = new ControlPlane(clock);
  const kept = new KeptState({ records, keepSecrets, statuses: stores.statuses, clock, log });
  const serving = new AutonomyReport({
    registry: metrics.registry,
    events,
    keptPods: () => kept.podCount(),
    clock,
    log,
  });
  const decorated = {
    ...api,
    client: keptClient(api.client, { plane, kept, keepSecrets }),
    follow: keptFollow(api.follow, { plane, kept, keepSecrets, clock, serving }),
  };
  return { api: decorated, components: [kept, plane] };
}
