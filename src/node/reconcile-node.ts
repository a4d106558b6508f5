// Reconciles an existing Node object on registration. Pure.
// Updates the labels that a kubelet may own, the attach-detach annotation and huge pages; resets extended resources only if
// the machine was recreated. Taints are set at creation only.
// Upstream: tryRegisterWithAPIServer in pkg/kubelet/kubelet_node_status.go.
import type { Node, ResourceList } from '../api/k8s/types.ts';
import { isExtendedResource } from '../api/quantity/extended-resources.ts';
import { isHugePages } from '../api/quantity/huge-pages.ts';
import { attachDetachAnnotation } from './generate-node.ts';

const ownedLabels: readonly string[] = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];

export function reconcileNode(existing: Node, initial: Node, resetExtendedResources: boolean): Node {
  const amounts = (list: 'capacity' | 'allocatable'): ResourceList =>
    reconcileAmounts(existing.status?.[list], initial.status?.[list] ?? {}, resetExtendedResources);
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: reconcileLabels(existing.metadata?.labels ?? {}, initial.metadata?.labels ?? {}),
      annotations: reconcileAnnotations(
        existing.metadata?.annotations ?? {},
        initial.metadata?.annotations ?? {},
      ),
    },
    status: { ...existing.status, capacity: amounts('capacity'), allocatable: amounts('allocatable') },
  };
}

function reconcileLabels(
  existing: Record<string, string>,
  initial: Record<string, string>,
): Record<string, string> {
  const labels = { ...existing };
  for (const name of ownedLabels) {
    const desired = initial[name];
    if (desired === undefined) continue;
    if (desired === '') delete labels[name];
    else labels[name] = desired;
  }
  return labels;
}

function reconcileAnnotations(
  existing: Record<string, string>,
  initial: Record<string, string>,
): Record<string, string> {
  const { [attachDetachAnnotation]: _before, ...others } = existing;
  const desired = initial[attachDetachAnnotation];
  return desired === undefined ? others : { ...others, [attachDetachAnnotation]: desired };
}

function reconcileAmounts(
  existing: ResourceList | undefined,
  initial: ResourceList,
  resetExtendedResources: boolean,
): ResourceList {
  if (existing === undefined) return { ...initial };
  const kept = Object.entries(existing)
    .filter(([name]) => !isHugePages(name))
    .map(([name, text]) => [name, resetExtendedResources && isExtendedResource(name) ? '0' : text]);
  const pages = Object.entries(initial).filter(([name]) => isHugePages(name));
  return Object.fromEntries([...kept, ...pages]) as ResourceList;
}
