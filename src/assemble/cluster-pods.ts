// Puts together what tells the API server of pods: their statuses, and the pictures of static ones.

import type { Pod } from '../api/k8s/types.ts';
import { isDown } from '../api/pod/observed.ts';
import { type PodUid, podFullName } from '../api/pod/pod-ref.ts';
import type { ApiClient } from '../api/ports/api-client.ts';
import { isMirrorOf } from '../api/ports/pod-source.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { ClusterMetrics } from '../metrics/cluster-metrics.ts';
import type { OwnNode } from '../node/own-node.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import type { ApiPods } from '../pods/api-pods.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import { MirrorPods } from '../pods/mirror-pods.ts';
import type { PodStatuses } from '../status/pod-statuses.ts';
import { StatusPusher } from '../status/push/status-pusher.ts';
import type { PodLifecycles } from '../workers/pod-lifecycles.ts';
import { podApi } from './cluster-api.ts';

export interface ClusterStores {
  readonly desired: DesiredPods;
  readonly observed: ObservedPods;
  readonly lifecycles: PodLifecycles;
  readonly statuses: PodStatuses;
}

/** What is known of the runtime as a whole. */
export interface RuntimeView {
  /** False while the runtime has not told this kubelet of the pod. */
  isInspected(uid: PodUid): boolean;
  /** Announced when the runtime has answered for the first time, or again. */
  readonly answered: Subscribable<void>;
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
    return findMirror(apiPods, wanted.pod);
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
  onMirrorChanged(stores, apiPods, (uid) => pusher.poke(uid));
  return pusher;
}

/** The mirror pod that shows this static pod; that of an earlier manifest shows the pod that still ends. */
export function findMirror(apiPods: ApiPods, pod: Pod): Pod | undefined {
  const mirror = apiPods.mirror(podFullName(pod));
  return mirror !== undefined && isMirrorOf(mirror, pod) ? mirror : undefined;
}

/** Calls with the UID of the static pod whose mirror pod has changed. */
export function onMirrorChanged(
  { desired }: Pick<ClusterStores, 'desired'>,
  apiPods: ApiPods,
  listener: (uid: PodUid) => void,
): void {
  apiPods.mirrorChanged.subscribe((fullName) => {
    for (const { pod, source, uid } of desired.all())
      if (source !== 'api' && podFullName(pod) === fullName) listener(uid);
  });
}

export function mirrorPods(
  { api, clock, nodeName, runtime, stores }: PodsInput & { readonly runtime: RuntimeView },
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
      mayRun: (uid) =>
        lifecycles.get(uid) !== undefined || !runtime.isInspected(uid) || !isDown(observed.get(uid)),
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
    if (lifecycles.get(uid) === undefined) mirrors.pokeShowing(uid);
  });
  observed.changed.subscribe((uid) => {
    if (desired.get(uid) === undefined) mirrors.pokeShowing(uid);
  });
  runtime.answered.subscribe(() => mirrors.pokeAll());
  apiPods.mirrorChanged.subscribe((fullName) => mirrors.poke(fullName));
  return mirrors;
}
