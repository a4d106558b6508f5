// A pod's QoS class, which determines its cgroup, its OOM score and its order of eviction.
// Pure; must agree with the API server. Upstream: pkg/apis/core/v1/helper/qos.
import type { Pod, ResourceRequirements } from '../k8s/types.ts';
import {
  addAmounts,
  equalAmounts,
  noAmounts,
  parseAmounts,
  type ResourceAmounts,
} from '../quantity/resource-amounts.ts';
import { initAndRegularContainers } from './find-container.ts';
import { hasPodLevelResources } from './resources.ts';

const qosClasses = ['Guaranteed', 'Burstable', 'BestEffort'] as const;
export type QosClass = (typeof qosClasses)[number];

interface QosOptions {
  /** Ignore spec.resources, as without the PodLevelResources feature. */
  readonly skipPodLevelResources?: boolean;
}

const countedResources = ['cpu', 'memory'] as const;

/** CPU and memory amounts above zero. */
function counted(list: ResourceRequirements['limits']): ResourceAmounts {
  const amounts = parseAmounts(list);
  return new Map(
    countedResources.flatMap((name) => {
      const amount = amounts.get(name);
      return amount?.sign() === 1 ? [[name, amount] as const] : [];
    }),
  );
}

/** The class in the pod's status, which comes from the API server, otherwise the one of its spec. */
export function podQosClass(pod: Pod, options: QosOptions = {}): QosClass {
  const known = qosClasses.find((name) => name === pod.status?.qosClass);
  return known ?? computePodQosClass(pod, options);
}

/**
 * Guaranteed: every container limits CPU and memory, and the pod's requests equal its limits. BestEffort: no container has
 * requests or limits. Burstable: all others. Init containers count, ephemeral ones have no resources. Pod-level resources, unless
 * empty, decide alone.
 */
export function computePodQosClass(pod: Pod, options: QosOptions = {}): QosClass {
  const skips = options.skipPodLevelResources === true || !hasPodLevelResources(pod);
  const own = skips ? undefined : pod.spec?.resources;
  const parts = own ? [own] : initAndRegularContainers(pod).map(({ resources }) => resources ?? {});
  let requests = noAmounts;
  let limits = noAmounts;
  let allLimited = true;
  for (const part of parts) {
    const limit = counted(part.limits);
    requests = addAmounts(requests, counted(part.requests));
    limits = addAmounts(limits, limit);
    allLimited &&= limit.size === countedResources.length;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  return allLimited && equalAmounts(requests, limits) ? 'Guaranteed' : 'Burstable';
}
