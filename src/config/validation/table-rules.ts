// The rules that rows of the table state themselves: ranges, least durations, allowed words.
import { pathText } from '../document.ts';
import { Duration } from '../duration.ts';
import type { Problem } from '../problem.ts';
import type { Field, Schema } from '../schema.ts';
import { type KubeletConfiguration, kubeletConfiguration } from '../table/kubelet-configuration.ts';

export function tableRules(config: KubeletConfiguration): readonly Problem[] {
  return checkObject(kubeletConfiguration, config, []);
}

type Values = { readonly [name: string]: unknown };
type Path = readonly (string | number)[];

function checkObject(schema: Schema, values: Values, path: Path): readonly Problem[] {
  return Object.entries(schema).flatMap(([name, field]) => checkField(field, values[name], [...path, name]));
}

function checkField(field: Field<unknown>, value: unknown, path: Path): readonly Problem[] {
  if (value === undefined) return [];
  const inner = field.fields ?? {};
  if (field.kind === 'object') return checkObject(inner, value as Values, path);
  if (field.kind === 'objects') {
    return (value as readonly Values[]).flatMap((entry, index) =>
      checkObject(inner, entry, [...path, index]),
    );
  }
  const message = violation(field, value);
  return message === undefined ? [] : [{ where: whereOf(path, field), message }];
}

/** "maxPods (--max-pods)" */
export function whereOf(path: Path, field: Field<unknown>): string {
  return field.flag === undefined ? pathText(path) : `${pathText(path)} (--${field.flag.name})`;
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
  return `${JSON.stringify(value)} is not allowed, must be one of ${field.oneOf.map((word) => JSON.stringify(word)).join(', ')}`;
}

function outOfRange({ min, max }: Field<unknown>, value: number): string | undefined {
  if ((min === undefined || value >= min) && (max === undefined || value <= max)) return undefined;
  if (min === undefined) return `${value} is too large, must be at most ${max}`;
  if (max === undefined) return `${value} is too small, must be at least ${min}`;
  return `${value} is out of range, must be from ${min} to ${max}`;
}
