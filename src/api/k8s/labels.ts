// Label selectors: requirements, matching, and the conversion from API objects.
// Invariant: a requirement built here is valid, so matching never fails.
// Upstream: apimachinery/pkg/labels and LabelSelectorAsSelector. The text form is in label-selector-text.ts.
import { KubeletError } from '../../base/errors.ts';
import { isLabelValue, isQualifiedName } from './names.ts';
import type { LabelSelector, NodeSelectorRequirement } from './types.ts';

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** All must hold; an empty list selects everything. */
export type LabelRequirements = readonly LabelRequirement[];

export type Labels = Readonly<Record<string, string>>;

const longestReason = 512;
const int64 = /^[+-]?\d{1,19}$/;

function readInt64(text: string): bigint | undefined {
  if (!int64.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ''));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

interface Count {
  readonly allows: (count: number) => boolean;
  readonly rule: string;
}

const oneOrMore: Count = { allows: (count) => count > 0, rule: 'needs at least one value' };
const one: Count = { allows: (count) => count === 1, rule: 'needs exactly one value' };
const none: Count = { allows: (count) => count === 0, rule: 'takes no values' };

interface Operator {
  readonly count: Count;
  readonly holds: (value: string | undefined, values: readonly string[]) => boolean;
}

const among: Operator['holds'] = (value, values) => value !== undefined && values.includes(value);
const notAmong: Operator['holds'] = (value, values) => value === undefined || !values.includes(value);

function comparing(holds: (have: bigint, want: bigint) => boolean): Operator['holds'] {
  return (value = '', [wanted = '']) => {
    const have = readInt64(value);
    const want = readInt64(wanted);
    return have !== undefined && want !== undefined && holds(have, want);
  };
}

const operators: Readonly<Record<LabelOperator, Operator>> = {
  '=': { count: one, holds: among },
  '==': { count: one, holds: among },
  '!=': { count: one, holds: notAmong },
  in: { count: oneOrMore, holds: among },
  notin: { count: oneOrMore, holds: notAmong },
  exists: { count: none, holds: (value) => value !== undefined },
  '!': { count: none, holds: (value) => value === undefined },
  '>': { count: one, holds: comparing((have, want) => have > want) },
  '<': { count: one, holds: comparing((have, want) => have < want) },
};

/** Builds a requirement. Throws `invalid` if the key, the values or their number do not fit the operator. */
export function labelRequirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
): LabelRequirement {
  const wrong = isQualifiedName(key).map((text) => `key ${JSON.stringify(key)}: ${text}`);
  const { count } = operators[operator];
  if (!count.allows(values.length)) wrong.push(`operator ${operator} ${count.rule}`);
  for (const value of values) {
    wrong.push(...isLabelValue(value).map((text) => `value ${JSON.stringify(value)}: ${text}`));
    const numeric = operator === '>' || operator === '<';
    if (numeric && readInt64(value) === undefined)
      wrong.push(`value ${JSON.stringify(value)}: must be an integer`);
  }
  if (wrong.length > 0) throw invalidSelector(wrong.join('; '));
  return { key, operator, values };
}

export function invalidSelector(why: string): KubeletError {
  // It quotes the input, whose length is not limited.
  const shown = why.length > longestReason ? `${why.slice(0, longestReason)}…` : why;
  return new KubeletError('invalid', 'InvalidSelector', `selector is not valid: ${shown}`);
}

export function matchesLabels(requirements: LabelRequirements, labels: Labels = {}): boolean {
  return requirements.every(({ key, operator, values }) =>
    operators[operator].holds(Object.hasOwn(labels, key) ? labels[key] : undefined, values),
  );
}

export function sortedByKey(requirements: readonly LabelRequirement[]): LabelRequirements {
  return [...requirements].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** Requires every label with exactly this value. */
export function requirementsOfLabels(labels: Labels): LabelRequirements {
  return sortedByKey(Object.entries(labels).map(([key, value]) => labelRequirement(key, '=', [value])));
}

const selectorOperators: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};
const nodeOperators: Readonly<Record<string, LabelOperator>> = { ...selectorOperators, Gt: '>', Lt: '<' };

interface Expression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

function ofExpressions(
  expressions: readonly Expression[],
  operators: Readonly<Record<string, LabelOperator>>,
): LabelRequirement[] {
  return expressions.map(({ key, operator, values = [] }) => {
    const known = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
    if (known === undefined) throw invalidSelector(`unknown operator ${JSON.stringify(operator)}`);
    return labelRequirement(key, known, values);
  });
}

/**
 * The requirements of an API selector. An empty selector selects everything. An absent one selects nothing: undefined.
 * Throws `invalid`.
 */
export function requirementsOfSelector(selector: LabelSelector | undefined): LabelRequirements | undefined {
  if (selector === undefined) return undefined;
  return sortedByKey([
    ...requirementsOfLabels(selector.matchLabels ?? {}),
    ...ofExpressions(selector.matchExpressions ?? [], selectorOperators),
  ]);
}

/** The requirements of a node selector term's expressions, including Gt and Lt. Throws `invalid`. */
export function requirementsOfNodeSelector(
  expressions: readonly NodeSelectorRequirement[],
): LabelRequirements {
  return sortedByKey(ofExpressions(expressions, nodeOperators));
}

/** Whether an API selector selects these labels. Throws `invalid`. */
export function selectorMatches(selector: LabelSelector | undefined, labels: Labels | undefined): boolean {
  const requirements = requirementsOfSelector(selector);
  return requirements !== undefined && matchesLabels(requirements, labels);
}
