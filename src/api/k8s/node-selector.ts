// Matches a node against node selector terms. Pure.
// Upstream: component-helpers/scheduling/corev1/nodeaffinity.
import { isKind } from '../../base/errors.ts';
import { matchesLabels, requirementsOfNodeSelector } from './labels.ts';
import type { Node, NodeSelectorTerm } from './types.ts';

/** One matching term suffices. An empty or invalid term matches nothing. */
export function matchesNodeTerms(terms: readonly NodeSelectorTerm[], node: Node): boolean {
  return terms.some((term) => {
    try {
      return holds(term, node);
    } catch (err) {
      if (isKind(err, 'invalid')) return false;
      throw err;
    }
  });
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
