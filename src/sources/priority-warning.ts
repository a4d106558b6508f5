// What is odd about the priority of a static pod: its class is not resolved, and its mirror pod is subject to admission. Pure.
// Upstream: getStaticPodPriorityWarning in pkg/kubelet/config/common.go.
import type { Pod } from '../api/k8s/types.ts';

const nodeCritical = { priority: 2_000_001_000, className: 'system-node-critical' } as const;

/** Undefined if the priority is that of a node-critical pod, or not set. */
export function priorityWarning({ spec }: Pod): string | undefined {
  const { priority, priorityClassName = '' } = spec ?? {};
  if (priority === undefined || priority === null)
    return priorityClassName === ''
      ? undefined
      : 'Static pod has priorityClassName and nil priority. Kubelet will not use priorityClassName, and mirror pod creation may fail.';
  if (priorityClassName === '')
    return "Static pod has priority without priorityClassName. Mirror pod creation may fail if the default priority class doesn't match the given priority.";
  if (priority === nodeCritical.priority && priorityClassName === nodeCritical.className) return undefined;
  return `Static pod has a priority other than ${nodeCritical.priority} or a priorityClassName other than ${nodeCritical.className}. Mirror pod may be attempted to be evicted from the node ineffectively.`;
}
