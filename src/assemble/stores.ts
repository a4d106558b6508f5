// The stores that several rooms share. Created before the loops, so that loops never refer to each other.
import { Pressure } from '../eviction/pressure.ts';
import { OwnNode } from '../node/own-node.ts';
import { ObservedPods } from '../pleg/observed-pods.ts';
import { ApiPods } from '../pods/api-pods.ts';
import { DesiredPods } from '../pods/desired-pods.ts';
import { sourceNames } from '../pods/source-names.ts';
import { ProbeResults } from '../probes/probe-results.ts';
import { NodeShutdown } from '../shutdown/node-shutdown.ts';
import { PodStatuses } from '../status/pod-statuses.ts';
import { PodKills } from '../workers/pod-kills.ts';
import { PodLifecycles } from '../workers/pod-lifecycles.ts';
import { PodsInSync } from '../workers/pods-in-sync.ts';
import type { AssembleInput } from './input.ts';

export interface SharedStores {
  readonly desired: DesiredPods;
  readonly observed: ObservedPods;
  readonly lifecycles: PodLifecycles;
  readonly statuses: PodStatuses;
  readonly probeResults: ProbeResults;
  readonly kills: PodKills;
  readonly inSync: PodsInSync;
  readonly pressure: Pressure;
  readonly shutdown: NodeShutdown;
  /** The next two stay empty on a standalone node. */
  readonly apiPods: ApiPods;
  readonly ownNode: OwnNode;
}

export function createStores({ cluster, config }: Pick<AssembleInput, 'cluster' | 'config'>): SharedStores {
  return {
    desired: new DesiredPods({ sources: sourceNames({ ...config, hasApiServer: cluster !== undefined }) }),
    observed: new ObservedPods(),
    lifecycles: new PodLifecycles(),
    statuses: new PodStatuses(),
    probeResults: new ProbeResults(),
    kills: new PodKills(),
    inSync: new PodsInSync(),
    pressure: new Pressure(),
    shutdown: new NodeShutdown(),
    apiPods: new ApiPods(),
    ownNode: new OwnNode(),
  };
}
