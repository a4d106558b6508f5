// The rules that are stated in the rows of the table: ranges, minimum durations, allowed values, gates.

import { Duration } from '../duration.ts';
import type { FeatureGates } from '../gates/feature-gates.ts';
import { type Path, pathText } from '../load/document.ts';
import { type Field, isDefaultValue, type Schema } from '../schema.ts';
import { kubeletConfiguration } from '../table/kubelet-configuration.ts';
import { listWords, quote, type Rule } from './context.ts';

export const tableRules: Rule = ({ config, gates, fail }) => {
  checkObject(kubeletConfiguration, config, [], gates, fail);
};

type Values = { readonly [name: string]: unknown };
type Fail = (path: string, message: string) => void;

function checkObject(schema: Schema, values: Values, path: Path, gates: FeatureGates, fail: Fail): void {
  for (const [name, field] of Object.entries(schema)) {
    checkField(field, values[name], [...path, name], gates, fail);
  }
}

function checkField(
  field: Field<unknown>,
  value: unknown,
  path: Path,
  gates: FeatureGates,
  fail: Fail,
): void {
  if (value === undefined) return;
  if (field.gate !== undefined && !gates[field.gate] && !isDefaultValue(field, value)) {
    fail(pathText(path), `needs the feature gate ${field.gate}`);
  }
  const inner = field.fields ?? {};
  if (field.kind === 'object') checkObject(inner, value as Values, path, gates, fail);
  else if (field.kind === 'objects') {
    for (const [index, entry] of (value as readonly Values[]).entries()) {
      checkObject(inner, entry, [...path, index], gates, fail);
    }
  } else {
    const message = violation(field, value);
    if (message !== undefined) fail(pathText(path), message);
  }
}

function violation(field: Field<unknown>, value: unknown): string | undefined {
  if (typeof value === 'number') return outOfRange(field, value);
  if (value instanceof Duration) {
    const least = field.minDuration;
    return least === undefined || value.ns >= least.ns
      ? undefined
      : `${value} is too short, must be at least ${least}`;
  }
  if (typeof value !== 'string' || field.oneOf === undefined || field.oneOf.includes(value)) return undefined;
  return `${quote(value)} is not allowed, must be one of ${listWords(field.oneOf)}`;
}

function outOfRange({ min, max }: Field<unknown>, value: number): string | undefined {
  if ((min === undefined || value >= min) && (max === undefined || value <= max)) return undefined;
  if (min === undefined) return `${value} is too large, must be at most ${max}`;
  if (max === undefined) return `${value} is too small, must be at least ${min}`;
  return `${value} is out of range, must be from ${min} to ${max}`;
}
