// Puts the objects together that pods refer to: the API server's in a cluster, none on a node that stands alone; and says
// which pods there are, so that what they refer to is there before they are started.
import type { Node, Pod } from '../api/k8s/types.ts';
import { hasEnded, isActivePod } from '../api/pod/active-pod.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import { ClusterObjects } from '../objects/cluster-objects.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import type { PodLifecycles } from '../workers/pod-lifecycles.ts';
import type { ClusterApi } from './cluster.ts';
import { standaloneObjects } from './standalone-objects.ts';

interface ObjectsInput {
  /** Instead of the API server's. */
  readonly objects?: PodObjects | undefined;
  readonly cluster?: ClusterApi | undefined;
  readonly config: Pick<KubeletConfiguration, 'configMapAndSecretChangeDetectionStrategy'>;
  readonly gates: Pick<FeatureGates, 'ClusterTrustBundleProjection'>;
  readonly nodeName: string;
  readonly ownNode: () => Node | undefined;
  readonly desired: DesiredPods;
  readonly lifecycles: PodLifecycles;
  readonly clock: Clock;
  readonly log: Logger;
}

export function podObjects(input: ObjectsInput): {
  readonly objects: PodObjects;
  readonly components: readonly Component[];
} {
  const { cluster, clock, config, desired, lifecycles, nodeName, ownNode } = input;
  if (input.objects !== undefined) return { objects: input.objects, components: [] };
  if (cluster === undefined) return { objects: standaloneObjects, components: [] };
  const objects = new ClusterObjects({
    ...cluster,
    strategy: config.configMapAndSecretChangeDetectionStrategy,
    trustBundles: input.gates.ClusterTrustBundleProjection,
    nodeName,
    ownNode,
    random: Math.random,
    clock,
    log: input.log.with({ component: 'objects' }),
  });
  const registered = new Map<PodUid, Pod>();
  const keep = (uid: PodUid): void => {
    const wanted = desired.get(uid);
    const lifecycle = lifecycles.get(uid);
    const known = registered.get(uid);
    if (wanted !== undefined && isActivePod(wanted.pod, lifecycle)) {
      if (known === wanted.pod) return;
      registered.set(uid, wanted.pod);
      objects.registerPod(wanted.pod);
    } else if (known !== undefined && (hasEnded(lifecycle) || lifecycle === undefined)) {
      // A pod that is being ended may still need its objects: hooks run, containers are restarted.
      registered.delete(uid);
      objects.unregisterPod(known);
    }
  };
  desired.changed.subscribe(keep);
  lifecycles.changed.subscribe(keep);
  return { objects, components: [objects] };
}
