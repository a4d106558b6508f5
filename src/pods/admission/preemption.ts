// Selects the pods to preempt for a critical pod: as few as possible, of the lowest QoS class first. Pure.
// Upstream: pkg/kubelet/preemption/preemption.go.

import type { Pod } from '../../api/k8s/types.ts';
import { mayPreempt } from '../../api/pod/critical-pods.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { KubeletError } from '../../base/errors.ts';
import { type RequestOptions, requestOf, type Shortage } from './fits-resources.ts';

interface Need {
  readonly resource: string;
  readonly amount: bigint;
}

/** Throws if the pods cannot free all of the shortage. */
export function podsToPreempt(
  preemptor: Pod,
  pods: readonly Pod[],
  shortages: readonly Shortage[],
  options: RequestOptions,
): readonly Pod[] {
  const needs = shortages.map(({ resource, requested, used, capacity }) => ({
    resource,
    amount: requested - (capacity - used),
  }));
  const candidates = pods.filter((pod) => mayPreempt(preemptor, pod));
  const ofClass = (qos: string): Pod[] => candidates.filter((pod) => podQosClass(pod) === qos);
  const [bestEffort, burstable, guaranteed] = [
    ofClass('BestEffort'),
    ofClass('Burstable'),
    ofClass('Guaranteed'),
  ] as const;
  const without = (...preempted: readonly Pod[][]): readonly Need[] =>
    remaining(needs, preempted.flat(), options);
  const open = without(bestEffort, burstable, guaranteed);
  if (open.length > 0) throw cannotFree(open);
  // What each class must free after all pods of the classes below it are preempted.
  const fromGuaranteed = nearest(guaranteed, without(bestEffort, burstable), options);
  const fromBurstable = nearest(burstable, without(bestEffort, fromGuaranteed), options);
  const fromBestEffort = nearest(bestEffort, without(fromBurstable, fromGuaranteed), options);
  return [...fromBestEffort, ...fromBurstable, ...fromGuaranteed];
}

/** Repeatedly picks the pod whose requests are nearest to the remaining need. */
function nearest(pods: readonly Pod[], needs: readonly Need[], options: RequestOptions): Pod[] {
  const chosen: Pod[] = [];
  const left = [...pods];
  let open = needs;
  while (open.length > 0) {
    const [first, ...rest] = left;
    if (first === undefined) throw cannotFree(open);
    let best = first;
    for (const pod of rest) {
      const difference = distance(pod, open, options) - distance(best, open, options);
      if (difference < 0 || (difference === 0 && isSmaller(pod, best, options))) best = pod;
    }
    open = remaining(open, [best], options);
    chosen.push(best);
    // The last pod replaces the chosen one, to match upstream's order for pods with equal requests.
    const at = left.indexOf(best);
    const last = left.pop();
    if (last !== undefined && at < left.length) left[at] = last;
  }
  return chosen;
}

function distance(pod: Pod, needs: readonly Need[], options: RequestOptions): number {
  return needs.reduce((sum, { resource, amount }) => {
    const missing = Number(amount - requestOf(pod, resource, options));
    return missing > 0 ? sum + (missing / Number(amount)) ** 2 : sum;
  }, 0);
}

function isSmaller(pod: Pod, than: Pod, options: RequestOptions): boolean {
  for (const resource of ['memory', 'cpu']) {
    const [a, b] = [requestOf(pod, resource, options), requestOf(than, resource, options)] as const;
    if (a !== b) return a < b;
  }
  return true;
}

function remaining(
  needs: readonly Need[],
  preempted: readonly Pod[],
  options: RequestOptions,
): readonly Need[] {
  return needs.flatMap(({ resource, amount }) => {
    const freed = preempted.reduce((sum, pod) => sum + requestOf(pod, resource, options), 0n);
    return freed >= amount ? [] : [{ resource, amount: amount - freed }];
  });
}

function cannotFree(needs: readonly Need[]): KubeletError {
  const list = needs.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('');
  return new KubeletError(
    'conflict',
    'UnexpectedAdmissionError',
    `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${list}]`,
  );
}
