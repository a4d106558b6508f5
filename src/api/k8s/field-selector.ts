// Field selectors: `spec.nodeName=n1,status.phase!=Failed`, with `\` before `,`, `=` and `\` in values.
// Invariant: the output of formatFieldSelector parses into equal requirements. Upstream: apimachinery/pkg/fields.
import { KubeletError } from '../../base/errors.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** The text comes from the client: bounded in errors. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

function invalid(why: string): KubeletError {
  return new KubeletError('invalid', 'InvalidSelector', `field selector is not valid: ${why}`);
}

/** Splits at commas that are not escaped. */
function splitTerms(text: string): string[] {
  return text.match(/(?:\\.|[^\\,]|\\$)+/gsu) ?? [];
}

function unescapeValue(escaped: string): string {
  const bare = escaped.replace(/\\[\\,=]/g, '');
  const wrong = /[\\,=]/.exec(bare);
  if (wrong?.[0] === '\\') throw invalid(`${quoted(escaped)} has a '\\' that escapes nothing`);
  if (wrong) throw invalid(`${quoted(escaped)} has a '${wrong[0]}' without a '\\' before it`);
  return escaped.replace(/\\([\\,=])/g, '$1');
}

export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

/** Parses a selector into requirements, sorted by their text. Throws `invalid`. */
export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  return splitTerms(text)
    .sort()
    .map((term) => {
      const groups = /^(?<field>.*?)(?<operator>!=|==?)(?<value>.*)$/s.exec(term)?.groups;
      if (groups === undefined) throw invalid(`${quoted(term)} has no operator (=, == or !=)`);
      const { field = '', operator, value = '' } = groups;
      return { field, operator: operator === '!=' ? '!=' : '=', value: unescapeValue(value) };
    });
}

export function formatFieldSelector(requirements: readonly FieldRequirement[]): string {
  return requirements
    .map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`)
    .join(',');
}

/** Whether all requirements hold. A missing field counts as empty. */
export function matchesFields(
  requirements: readonly FieldRequirement[],
  fields: Readonly<Record<string, string>>,
): boolean {
  return requirements.every(({ field, operator, value }) => {
    const have = (Object.hasOwn(fields, field) ? fields[field] : undefined) ?? '';
    return operator === '=' ? have === value : have !== value;
  });
}
