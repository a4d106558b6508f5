// Validates tolerations, affinities and node selectors. Static pods are not scheduled, but a manifest that the API would
// reject is rejected here, too.
// Upstream: pkg/apis/core/validation (ValidateTolerations, validateAffinity).

import { isDns1123Label, isDns1123Subdomain, isLabelValue } from '../../api/k8s/names.ts';
import type {
  Affinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
} from '../../api/k8s/types.ts';
import { checkLabelKeys } from './label-keys.ts';
import { checkLabelName, checkLabelSelector, checkOperator } from './metadata.ts';
import type { Violations } from './violation.ts';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

export function checkTolerations(v: Violations, path: string, tolerations: readonly Toleration[]): void {
  for (const [index, { effect, key, operator, tolerationSeconds, value = '' }] of tolerations.entries()) {
    const at = `${path}[${index}]`;
    if (key) checkLabelName(v, `${at}.key`, key);
    else if (operator !== 'Exists')
      v.invalid(
        `${at}.operator`,
        operator ?? '',
        'must be Exists when there is no key, which means every taint',
      );
    if (tolerationSeconds !== undefined && effect !== 'NoExecute')
      v.invalid(`${at}.effect`, effect ?? '', 'must be NoExecute when tolerationSeconds is given');
    if (!operator || operator === 'Equal') {
      const wrong = isLabelValue(value);
      if (wrong.length > 0) v.invalid(`${at}.operator`, value, wrong.join('; '));
    } else if (operator === 'Exists') {
      if (value !== '') v.invalid(`${at}.operator`, value, 'there must be no value with the operator Exists');
    } else v.unsupported(`${at}.operator`, operator, ['Equal', 'Exists']);
    if (effect) v.word(`${at}.effect`, effect, effects);
  }
}

export function checkAffinity(v: Violations, path: string, affinity: Affinity | undefined): void {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity ?? {};
  const selector = nodeAffinity?.[required];
  if (selector !== undefined) {
    const at = `${path}.nodeAffinity.${required}.nodeSelectorTerms`;
    const terms = selector.nodeSelectorTerms ?? [];
    if (terms.length === 0) v.required(at, 'needs at least one term');
    for (const [index, term] of terms.entries()) checkNodeTerm(v, `${at}[${index}]`, term, true);
  }
  for (const [index, { preference, weight }] of (nodeAffinity?.[preferred] ?? []).entries()) {
    const at = `${path}.nodeAffinity.${preferred}[${index}]`;
    checkWeight(v, at, weight);
    // A preference may contain a value that no label can have.
    checkNodeTerm(v, `${at}.preference`, preference ?? {}, false);
  }
  checkPodAffinity(v, `${path}.podAffinity`, podAffinity);
  checkPodAffinity(v, `${path}.podAntiAffinity`, podAntiAffinity);
}

function checkWeight(v: Violations, at: string, weight: number | undefined): void {
  v.range(`${at}.weight`, weight ?? 0, 1, 100);
}

function checkNodeTerm(v: Violations, path: string, term: NodeSelectorTerm, checkValues: boolean): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries())
    checkNodeRequirement(v, `${path}.matchExpressions[${index}]`, requirement, checkValues);
  for (const [index, { key, operator, values = [] }] of (term.matchFields ?? []).entries()) {
    const at = `${path}.matchFields[${index}]`;
    if (operator !== 'In' && operator !== 'NotIn')
      v.invalid(`${at}.operator`, operator, 'is not an operator for fields, only In and NotIn are');
    else if (values.length !== 1) v.required(`${at}.values`, 'needs exactly one value');
    if (key !== 'metadata.name')
      v.invalid(`${at}.key`, key, 'is not a field to select by, only metadata.name is');
    else
      for (const [place, value] of values.entries())
        for (const detail of isDns1123Subdomain(value)) v.invalid(`${at}.values[${place}]`, value, detail);
  }
}

function checkNodeRequirement(
  v: Violations,
  path: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
  checkValues: boolean,
): void {
  if (operator !== 'Gt' && operator !== 'Lt') checkOperator(v, path, operator ?? '', values);
  else if (values.length !== 1)
    v.required(`${path}.values`, `needs exactly one value for the operator ${operator}`);
  checkLabelName(v, `${path}.key`, key ?? '');
  if (!checkValues) return;
  for (const [place, value] of values.entries()) v.text(`${path}.values[${place}]`, value, isLabelValue);
}

function checkPodAffinity(v: Violations, path: string, affinity: PodAffinity | undefined): void {
  for (const [index, term] of (affinity?.[required] ?? []).entries())
    checkAffinityTerm(v, `${path}.${required}[${index}]`, term);
  for (const [index, { podAffinityTerm, weight }] of (affinity?.[preferred] ?? []).entries()) {
    const at = `${path}.${preferred}[${index}]`;
    checkWeight(v, at, weight);
    checkAffinityTerm(v, `${at}.podAffinityTerm`, podAffinityTerm ?? { topologyKey: '' });
  }
}

function checkAffinityTerm(v: Violations, path: string, term: PodAffinityTerm): void {
  checkLabelSelector(v, `${path}.labelSelector`, term.labelSelector);
  checkLabelSelector(v, `${path}.namespaceSelector`, term.namespaceSelector);
  for (const [index, name] of (term.namespaces ?? []).entries())
    for (const detail of isDns1123Label(name)) v.invalid(`${path}.namespaces[${index}]`, name, detail);
  checkLabelKeys(v, path, term);
  if (!term.topologyKey) v.required(`${path}.topologyKey`, 'must not be empty');
  checkLabelName(v, `${path}.topologyKey`, term.topologyKey ?? '');
}
