// Index of every flag by name, from the tables of fields and flags.

import type { Field, FlagSpec, FlagType, Kind, Schema } from '../schema.ts';
import { kubeletConfiguration } from '../table/kubelet-configuration.ts';
import { kubeletFlags } from '../table/kubelet-flags.ts';
import { isBooleanFlag, readFlag } from './flag-values.ts';

export interface FlagEntry {
  readonly name: string;
  readonly short: string | undefined;
  readonly type: FlagType;
  readonly spec: FlagSpec;
  readonly field: Field<unknown>;
  /** The table of the row, and the path in it. */
  readonly table: 'config' | 'flags';
  readonly path: readonly string[];
  /** The deprecation message; undefined if the flag is not deprecated. */
  readonly deprecated: string | undefined;
  readonly isBoolean: boolean;
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

function collectFlags(
  table: 'config' | 'flags',
  schema: Schema,
  path: readonly string[],
): readonly FlagEntry[] {
  return Object.entries(schema).flatMap(([name, field]) => {
    const here = [...path, name];
    const inner =
      field.kind === 'object' && field.fields !== undefined ? collectFlags(table, field.fields, here) : [];
    const spec = field.flag;
    if (spec === undefined) return inner;
    const type = spec.type ?? typeOfKind[field.kind] ?? 'string';
    const deprecated =
      spec.deprecated === false
        ? undefined
        : (spec.deprecated ?? `Set ${here.join('.')} in the configuration file (--config).`);
    const entry: FlagEntry = {
      name: spec.name,
      short: spec.short,
      type,
      spec,
      field,
      table,
      path: here,
      deprecated,
      isBoolean: isBooleanFlag(type),
    };
    return [entry, ...inner];
  });
}

/** In alphabetical order, as help lists them. */
export const allFlags: readonly FlagEntry[] = [
  ...collectFlags('config', kubeletConfiguration, []),
  ...collectFlags('flags', kubeletFlags, []),
].toSorted((a, b) => (a.name < b.name ? -1 : 1));

export const flagByName: ReadonlyMap<string, FlagEntry> = new Map(
  allFlags.map((entry) => [entry.name, entry]),
);

/** By the names that flags had in older kubelets. */
export const flagByFormerName: ReadonlyMap<string, FlagEntry> = new Map(
  allFlags.flatMap((entry) =>
    entry.spec.formerName === undefined ? [] : [[entry.spec.formerName, entry] as const],
  ),
);

export const flagByShort: ReadonlyMap<string, FlagEntry> = new Map(
  allFlags.flatMap((entry) => (entry.short === undefined ? [] : [[entry.short, entry] as const])),
);

interface AppliedFlags {
  readonly value: unknown;
  readonly problems: readonly string[];
}

/** The value of a flag after all its uses; `current` is the value without them. */
export function foldUses(entry: FlagEntry, texts: readonly string[], current: unknown): AppliedFlags {
  let before: unknown;
  const problems: string[] = [];
  for (const text of texts) {
    const parsed = readFlag(entry.type, text, before, current);
    if ('problem' in parsed) problems.push(parsed.problem);
    else before = parsed.value;
  }
  return { value: before === undefined ? current : before, problems };
}
