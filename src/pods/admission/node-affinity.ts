// Whether a node is one that a pod may run on: its node selector and what its affinity requires. Pure.
// Upstream: component-helpers/scheduling/corev1/nodeaffinity.
import type { Node, NodeSelectorTerm, Pod } from '../../api/k8s.ts';
import { matchesLabels, requirementsOfNodeSelector } from '../../api/labels.ts';
import { isKind } from '../../base/errors.ts';

export function matchesNode(pod: Pod, node: Node): boolean {
  const labels = node.metadata?.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec?.nodeSelector ?? {}))
    if (labels[key] !== value) return false;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  return required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** A term that asks for nothing, or that cannot be understood, matches nothing. */
function matchesTerm(term: NodeSelectorTerm, node: Node): boolean {
  try {
    return holds(term, node);
  } catch (err) {
    if (isKind(err, 'invalid')) return false;
    throw err;
  }
}

function holds(term: NodeSelectorTerm, node: Node): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length + matchFields.length === 0) return false;
  const labels = node.metadata?.labels ?? {};
  const fields = { 'metadata.name': node.metadata?.name ?? '' };
  return (
    matchesLabels(requirementsOfNodeSelector(matchExpressions), labels) &&
    matchesLabels(requirementsOfNodeSelector(matchFields), fields)
  );
}
