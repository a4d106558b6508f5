// Matches a pod's node selector and required node affinity against a node. Pure.
// Upstream: component-helpers/scheduling/corev1/nodeaffinity.

import { matchesNodeTerms } from '../../api/k8s/node-selector.ts';
import type { Node, Pod } from '../../api/k8s/types.ts';

export function matchesNode(pod: Pod, node: Node): boolean {
  const labels = node.metadata?.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec?.nodeSelector ?? {}))
    if (labels[key] !== value) return false;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeTerms(required.nodeSelectorTerms, node);
}
