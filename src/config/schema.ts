// The rows of the configuration tables: one row says type, default, flag, rules and documentation of one setting.
// Types, decoding, defaults, flags, /configz and the reference pages are all derived from rows; nothing is written twice.
// Rows are data. Invariant: a row's `default` has the row's type, so InferConfig can read the type from it.
import { isDeepStrictEqual } from 'node:util';
import { Duration } from './duration.ts';
import type { Effect } from './effect.ts';
import type { GateName } from './gates/table.ts';

export type Kind =
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'float'
  | 'string'
  | 'duration'
  | 'time' // a duration, or a bare number of nanoseconds
  | 'quantity'
  | 'timestamp'
  | 'strings'
  | 'stringMap'
  | 'booleanMap'
  | 'stringListMap'
  | 'quantityMap'
  | 'object'
  | 'objects';

/** How a flag's text is read; flagTypeNames in flag-types.ts has the word that help shows for each. */
export type FlagType =
  | 'bool'
  | 'int32'
  | 'int'
  | 'string'
  | 'ip'
  | 'duration'
  | 'quantity'
  | 'strings'
  | 'pairs' // a=b,c=d
  | 'pair' // one a=b each time
  | 'thresholds' // a<b,c<d
  | 'labels' // a=b,c
  | 'gates' // A=true,B=false
  | 'headers' // a:b,a:c
  | 'taints'
  | 'reserved-memory'
  | 'level'
  | 'vmodule'
  | 'version';

export interface FlagSpec {
  readonly name: string;
  readonly type?: FlagType;
  readonly short?: string;
  /** The word that help shows for the value, where it is not the type's own. */
  readonly shownType?: string;
  /** What to say when it is used; `false`: in good standing. A flag of a config field is deprecated unless it says so. */
  readonly deprecated?: string | false;
  readonly doc?: string;
  /** Not one of upstream's. */
  readonly own?: true;
}

export interface Field<T> {
  readonly kind: Kind;
  readonly doc: string;
  readonly default: T;
  /** May stay unset: then it is undefined, and absent from /configz. */
  readonly optional: boolean;
  /** A zero in the file is an answer, not "unset", and /configz prints it (a pointer in the upstream type). */
  readonly keepsZero: boolean;
  /** Must be present in each entry of a list. Printed even when zero. */
  readonly required: boolean;
  readonly flag?: FlagSpec;
  /** The default when neither --config nor --config-dir is given, where it differs. */
  readonly legacyDefault?: T;
  /** The default when the file that --config names does not set the field, where it differs. */
  readonly fileDefault?: T;
  /** Prose for defaults that depend on other settings. */
  readonly defaultNote?: string;
  /** Must be on for the field to be set. */
  readonly gate?: GateName;
  /** The field acts only while this gate is on; setting it is allowed at any time. */
  readonly actsWith?: GateName;
  readonly min?: number;
  readonly max?: number;
  readonly minDuration?: Duration;
  readonly oneOf?: readonly string[];
  /** A relative path in the file is taken from the file's own directory. */
  readonly path: boolean;
  /** How far this kubelet acts on it; absent when it acts as upstream does. */
  readonly effect?: Effect;
  readonly fields?: Schema;
}

export type Schema = { readonly [name: string]: Field<unknown> };

export type InferConfig<S extends Schema> = {
  readonly [K in keyof S]: S[K] extends Field<infer T> ? T : never;
};

export type StringMap = Readonly<Record<string, string>>;

interface Common<T> {
  readonly doc: string;
  readonly default?: T;
  readonly flag?: string | FlagSpec;
  readonly keepsZero?: boolean;
  readonly required?: boolean;
  readonly legacyDefault?: T;
  readonly fileDefault?: T;
  readonly defaultNote?: string;
  readonly gate?: GateName;
  readonly actsWith?: GateName;
  readonly effect?: Effect;
}

function row<T>(kind: Kind, zero: T, options: Common<T>, more: Partial<Field<T>> = {}): Field<T> {
  const { flag, default: given, keepsZero, required, ...rest } = options;
  return {
    ...rest,
    ...more,
    kind,
    default: given ?? zero,
    optional: false,
    keepsZero: keepsZero ?? false,
    required: required ?? false,
    path: more.path ?? false,
    ...(flag === undefined ? {} : { flag: typeof flag === 'string' ? { name: flag } : flag }),
  };
}

export function boolean(options: Common<boolean>): Field<boolean> {
  return row('boolean', false, options);
}

interface Range {
  readonly min?: number;
  readonly max?: number;
}

function ranged(options: Common<number> & Range): Partial<Field<number>> {
  return {
    ...(options.min === undefined ? {} : { min: options.min }),
    ...(options.max === undefined ? {} : { max: options.max }),
  };
}

export function int32(options: Common<number> & Range): Field<number> {
  return row('int32', 0, options, ranged(options));
}

export function int64(options: Common<number> & Range): Field<number> {
  return row('int64', 0, options, ranged(options));
}

export function uint32(options: Common<number> & Range): Field<number> {
  return row('uint32', 0, options, ranged(options));
}

export function float(options: Common<number>): Field<number> {
  return row('float', 0, options);
}

export function text(options: Common<string> & { readonly path?: boolean }): Field<string> {
  const { path, ...rest } = options;
  return row('string', '', rest, { path: path ?? false });
}

/** A string of which only some are allowed; validation reports any other. */
export function choice<const V extends readonly string[]>(
  values: V,
  options: Common<V[number]>,
): Field<V[number]> {
  return row<V[number]>('string', '', options, { oneOf: values });
}

type Spans = { readonly default?: string; readonly atLeast?: string };

export function duration(options: Omit<Common<Duration>, 'default'> & Spans): Field<Duration> {
  const { default: given, atLeast, ...rest } = options;
  return row(
    'duration',
    span(given ?? '0s'),
    rest,
    atLeast === undefined ? {} : { minDuration: span(atLeast) },
  );
}

export function time(options: Omit<Common<Duration>, 'default'> & Spans): Field<Duration> {
  const { default: given, ...rest } = options;
  return row('time', span(given ?? '0s'), rest);
}

function span(text: string): Duration {
  const parsed = Duration.parse(text);
  if (parsed === undefined) throw new RangeError(`the table has a bad duration: ${text}`);
  return parsed;
}

export function quantity(options: Common<string>): Field<string> {
  return row('quantity', '0', options);
}

export function timestamp(options: Common<string>): Field<string> {
  return row('timestamp', '', options);
}

export function strings(options: Common<readonly string[]>): Field<readonly string[]> {
  return row<readonly string[]>('strings', [], options);
}

export function stringMap(options: Common<StringMap>): Field<StringMap> {
  return row<StringMap>('stringMap', {}, options);
}

export function booleanMap(
  options: Common<Readonly<Record<string, boolean>>>,
): Field<Readonly<Record<string, boolean>>> {
  return row<Readonly<Record<string, boolean>>>('booleanMap', {}, options);
}

export function stringListMap(
  options: Common<Readonly<Record<string, readonly string[]>>>,
): Field<Readonly<Record<string, readonly string[]>>> {
  return row<Readonly<Record<string, readonly string[]>>>('stringListMap', {}, options);
}

export function quantityMap(options: Common<StringMap>): Field<StringMap> {
  return row<StringMap>('quantityMap', {}, options);
}

export function object<S extends Schema>(
  fields: S,
  options: Omit<Common<never>, 'default'>,
): Field<InferConfig<S>> {
  return row<InferConfig<S>>('object', defaultsOf(fields), options, { fields });
}

export function objects<S extends Schema>(
  fields: S,
  options: Omit<Common<never>, 'default'>,
): Field<readonly InferConfig<S>[]> {
  return row<readonly InferConfig<S>[]>('objects', [], options, { fields });
}

/** The same row, but it may stay unset. */
export function optional<T>(field: Field<T>): Field<T | undefined> {
  return { ...field, optional: true, keepsZero: true, default: undefined };
}

export function defaultsOf<S extends Schema>(schema: S): InferConfig<S> {
  const made: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema)) made[name] = field.default;
  return made as InferConfig<S>;
}

/** Whether a value is one that the setting has when nobody sets it, with a configuration file or without. */
export function isDefaultValue(field: Field<unknown>, value: unknown): boolean {
  return [field.default, field.fileDefault, field.legacyDefault].some(
    (each, index) => (index === 0 || each !== undefined) && isSame(each, value),
  );
}

function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Duration && b instanceof Duration) return a.ns === b.ns;
  return isDeepStrictEqual(a, b);
}

export function isMapKind(kind: Kind): boolean {
  return kind.endsWith('Map');
}
