// Puts together what tells the API server of pods: their statuses, and the pictures of static ones.
import type { ApiClient } from '../api/api-client.ts';
import type { Pod } from '../api/k8s.ts';
import { type PodUid, podFullName } from '../api/pod-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { OwnNode } from '../node/own-node.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import type { ApiPods } from '../pods/api-pods.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import { MirrorPods } from '../pods/mirror-pods.ts';
import type { ClusterMetrics } from '../stats/cluster-metrics.ts';
import type { PodStatuses } from '../status/pod-statuses.ts';
import { StatusPusher } from '../status/status-pusher.ts';
import type { PodLifecycles } from '../workers/pod-lifecycles.ts';
import { podApi } from './cluster-api.ts';

export interface ClusterStores {
  readonly desired: DesiredPods;
  readonly observed: ObservedPods;
  readonly lifecycles: PodLifecycles;
  readonly statuses: PodStatuses;
}

interface PodsInput {
  readonly api: { readonly client: ApiClient };
  readonly nodeName: string;
  readonly stores: ClusterStores;
  readonly clock: Clock;
}

export function statusPusher(
  { api, clock, stores }: PodsInput,
  apiPods: ApiPods,
  metrics: ClusterMetrics,
  log: Logger,
): StatusPusher {
  const { desired, lifecycles, observed, statuses } = stores;
  const target = (uid: PodUid): Pod | undefined => {
    const wanted = desired.get(uid);
    if (wanted === undefined || wanted.source === 'api') return apiPods.get(uid);
    return apiPods.mirror(podFullName(wanted.pod));
  };
  const pusher = new StatusPusher({
    statuses,
    lifecycles,
    observed,
    target,
    api: podApi(api.client),
    observe: (seconds) => metrics.observeStatusSync(seconds),
    clock,
    log,
  });
  for (const { changed } of [statuses, lifecycles, apiPods]) changed.subscribe((uid) => pusher.poke(uid));
  apiPods.mirrorChanged.subscribe((fullName) => {
    for (const { pod, source, uid } of desired.all())
      if (source !== 'api' && podFullName(pod) === fullName) pusher.poke(uid);
  });
  return pusher;
}

export function mirrorPods(
  { api, clock, nodeName, stores }: PodsInput,
  apiPods: ApiPods,
  own: OwnNode,
  log: Logger,
): MirrorPods {
  const { desired, lifecycles, observed } = stores;
  const statics = (): readonly Pod[] =>
    desired.all().flatMap(({ pod, source }) => (source === 'api' ? [] : [pod]));
  const mirrors = new MirrorPods({
    statics: {
      get: (fullName) => statics().find((pod) => podFullName(pod) === fullName),
      isBusy: (fullName) =>
        [...observed.all().values()].some((seen) => podFullName({ metadata: seen }) === fullName),
      names: () => statics().map(podFullName),
      sourcesReady: () => desired.sourcesReady(),
    },
    mirrors: apiPods,
    node: () => {
      const { deletionTimestamp, uid } = own.get()?.metadata ?? {};
      return uid === undefined || deletionTimestamp !== undefined ? undefined : { name: nodeName, uid };
    },
    api: podApi(api.client),
    clock,
    log,
  });
  desired.changed.subscribe((uid) => {
    const wanted = desired.get(uid);
    if (wanted === undefined) mirrors.pokeAll();
    else if (wanted.source !== 'api') mirrors.poke(podFullName(wanted.pod));
  });
  desired.ready.subscribe(() => mirrors.pokeAll());
  lifecycles.changed.subscribe((uid) => {
    // A static pod that was removed has ended: its picture can go, too.
    if (lifecycles.get(uid) === undefined) mirrors.pokeAll();
  });
  apiPods.mirrorChanged.subscribe((fullName) => mirrors.poke(fullName));
  return mirrors;
}
