// Translates the zones and regions of an in-tree volume, in its node affinity or its labels, to the labels of a driver's nodes.
// Pure. Invariant: an affinity without zone or region stays as it is; the given one is never changed.
// Upstream: translateTopologyFromInTreeToCSI in staging/src/k8s.io/csi-translation-lib/plugins, and its variant for vSphere.
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PersistentVolume,
  VolumeNodeAffinity,
} from '../../api/k8s/types.ts';
import { untranslatable } from './untranslatable.ts';

export interface TopologyKeys {
  readonly zone: string;
  /** Present: also translate regions, and take the label as one zone. */
  readonly region?: string;
}

const current: Required<TopologyKeys> = {
  zone: 'topology.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
};
const beta: Required<TopologyKeys> = {
  zone: 'failure-domain.beta.kubernetes.io/zone',
  region: 'failure-domain.beta.kubernetes.io/region',
};

type Terms = readonly NodeSelectorTerm[];

const zoneSeparator = '__';
/** The API server admits no longer value of a label. */
const longestLabel = 63;

export function translateTopology(
  volume: PersistentVolume,
  keys: TopologyKeys,
): VolumeNodeAffinity | undefined {
  const affinity = volume.spec?.nodeAffinity;
  const terms: Terms = affinity?.required?.nodeSelectorTerms ?? [];
  const old = inTreeKeys(volume, terms);
  const zone = labelOf(volume, old.zone);
  let translated: Terms;
  if (keys.region !== undefined) {
    translated = renameOrAdd(terms, old.zone, keys.zone, [zone]);
    translated = renameOrAdd(translated, old.region, keys.region, [labelOf(volume, old.region)]);
  } else {
    translated = renameOrAdd(terms, old.zone, keys.zone, splitZones(zone));
    // Nodes of later releases lack the beta label.
    if (old === beta) translated = rename(translated, beta.region, current.region);
  }
  if (translated === terms) return affinity;
  return { ...affinity, required: { ...affinity?.required, nodeSelectorTerms: [...translated] } };
}

/** Empty: no label names a zone. The beta label has precedence here, unlike in translateTopology. */
export function zonesOfLabels(volume: PersistentVolume): readonly string[] {
  const old = labelOf(volume, beta.zone) ?? '';
  const text = old === '' ? (labelOf(volume, current.zone) ?? '') : old;
  return text === '' ? [] : splitZones(text);
}

function splitZones(label: string | undefined): readonly string[] {
  return label?.split(zoneSeparator) ?? [];
}

/** The node affinity has precedence over the labels; in each, the current key over the beta key. */
function inTreeKeys(volume: PersistentVolume, terms: Terms): Required<TopologyKeys> {
  const isInAffinity = (key: string): boolean => terms.some((term) => hasExpression(term, key, 0));
  if (isInAffinity(current.zone)) return current;
  if (isInAffinity(beta.zone)) return beta;
  if (labelOf(volume, current.zone) !== undefined) return current;
  return labelOf(volume, beta.zone) === undefined ? current : beta;
}

/** Renames the key if the affinity has values for it; otherwise adds the values of the label to every term. */
function renameOrAdd(
  terms: Terms,
  from: string,
  to: string,
  ofLabel: readonly (string | undefined)[],
): Terms {
  if (terms.some((term) => hasExpression(term, from, 1))) return rename(terms, from, to);
  const trimmed = ofLabel.map((each) => each?.trim() ?? '').filter((each) => each !== '');
  const values = [...new Set(trimmed)].sort();
  if (values.length === 0) return terms;
  return (terms.length === 0 ? [{}] : terms).map((term) => ({
    ...term,
    matchExpressions: [
      ...(term.matchExpressions ?? []),
      { key: to, operator: 'In', values: [...values] } satisfies NodeSelectorRequirement,
    ],
  }));
}

/** Nothing is renamed unless one of the expressions has values. */
function rename(terms: Terms, from: string, to: string): Terms {
  if (!terms.some((term) => hasExpression(term, from, 1))) return terms;
  return terms.map((term) => {
    if (!hasExpression(term, from, 0)) return term;
    const matchExpressions = (term.matchExpressions ?? []).map((each) =>
      each.key === from ? { ...each, key: to } : each,
    );
    return { ...term, matchExpressions };
  });
}

function hasExpression(term: NodeSelectorTerm, key: string, leastValues: number): boolean {
  return (term.matchExpressions ?? []).some(
    (each) => each.key === key && (each.values ?? []).length >= leastValues,
  );
}

function labelOf({ metadata }: PersistentVolume, key: string): string | undefined {
  const label = metadata?.labels?.[key];
  if (label !== undefined && label.length > longestLabel)
    throw untranslatable(
      `failed to translate topology: the label ${key} is longer than ${longestLabel} characters`,
    );
  return label;
}
