// Every flag of the command by name, gathered from the two tables once. Answers where a flag's value goes.

import type { Field, FlagSpec, FlagType, Kind, Schema } from '../schema.ts';
import { kubeletConfiguration } from '../table/kubelet-configuration.ts';
import { kubeletFlags } from '../table/kubelet-flags.ts';
import { readFlag, standsAlone } from './flag-values.ts';

export interface FlagEntry {
  readonly name: string;
  readonly short: string | undefined;
  readonly type: FlagType;
  readonly spec: FlagSpec;
  readonly field: Field<unknown>;
  /** In which of the two tables, and where in it. */
  readonly table: 'config' | 'flags';
  readonly path: readonly string[];
  /** What to say when it is used; undefined while it is in good standing. */
  readonly deprecated: string | undefined;
  readonly standsAlone: boolean;
}

const typeOfKind: Partial<Record<Kind, FlagType>> = {
  boolean: 'bool',
  int32: 'int32',
  int64: 'int',
  string: 'string',
  duration: 'duration',
  time: 'duration',
  quantity: 'quantity',
  strings: 'strings',
  stringMap: 'pairs',
  booleanMap: 'gates',
  stringListMap: 'headers',
};

function gather(table: 'config' | 'flags', schema: Schema, path: readonly string[]): readonly FlagEntry[] {
  return Object.entries(schema).flatMap(([name, field]) => {
    const here = [...path, name];
    const inner =
      field.kind === 'object' && field.fields !== undefined ? gather(table, field.fields, here) : [];
    const spec = field.flag;
    if (spec === undefined) return inner;
    const type = spec.type ?? typeOfKind[field.kind] ?? 'string';
    const deprecated =
      spec.deprecated === false
        ? undefined
        : (spec.deprecated ?? `Set ${here.join('.')} in the file that --config names.`);
    const entry: FlagEntry = {
      name: spec.name,
      short: spec.short,
      type,
      spec,
      field,
      table,
      path: here,
      deprecated,
      standsAlone: standsAlone(type),
    };
    return [entry, ...inner];
  });
}

/** In alphabetical order, as help lists them. */
export const allFlags: readonly FlagEntry[] = [
  ...gather('config', kubeletConfiguration, []),
  ...gather('flags', kubeletFlags, []),
].toSorted((a, b) => (a.name < b.name ? -1 : 1));

export const flagByName: ReadonlyMap<string, FlagEntry> = new Map(
  allFlags.map((entry) => [entry.name, entry]),
);

export const flagByShort: ReadonlyMap<string, FlagEntry> = new Map(
  allFlags.flatMap((entry) => (entry.short === undefined ? [] : [[entry.short, entry] as const])),
);

interface AppliedFlags {
  readonly value: unknown;
  readonly faults: readonly string[];
}

/** The value of one flag after all its uses, on top of what the setting holds without them. */
export function foldUses(entry: FlagEntry, texts: readonly string[], current: unknown): AppliedFlags {
  let before: unknown;
  const faults: string[] = [];
  for (const text of texts) {
    const parsed = readFlag(entry.type, text, before, current);
    if ('fault' in parsed) faults.push(parsed.fault);
    else before = parsed.value;
  }
  return { value: before === undefined ? current : before, faults };
}
