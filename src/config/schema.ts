// The rows of the configuration tables: one row has the type, default, flag, rules, effect and documentation of one setting.
// Types, decoding, defaults, flags, /configz and the reference pages are derived from the rows. Rows are data.
// Invariant: the `default` of a row has the type of the row, so that InferConfig can infer the type from it.
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
  | 'integers'
  | 'stringMap'
  | 'booleanMap'
  | 'stringListMap'
  | 'quantityMap'
  | 'object'
  | 'objects';

/** How the value of a flag is parsed; flagTypeNames in flag-values.ts has the name that help shows for each. */
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
  | 'pair' // one a=b per use
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
  /** Its name in older kubelets, which is still understood, with a warning. */
  readonly formerName?: string;
  /** The name that help shows for the value, if it differs from that of the type. */
  readonly shownType?: string;
  /** The deprecation message; `false`: not deprecated. The flag of a config field is deprecated unless this is false. */
  readonly deprecated?: string | false;
  readonly doc?: string;
  /** Upstream does not have it. */
  readonly own?: true;
  /** What a shell offers as its value, if the type, `oneOf` and `path` of the row do not say it. */
  readonly completes?: 'file' | 'directory' | readonly string[];
}

/** When a changed value takes effect: in the running kubelet, in pods that are started later, or after a restart of the kubelet. */
export type Applies = 'now' | 'new-pods' | 'restart';

export interface Field<T> {
  readonly kind: Kind;
  readonly doc: string;
  readonly default: T;
  /** May be unset: then it is undefined, and omitted from /configz. */
  readonly optional: boolean;
  /** A zero in the file is a value, not "unset", and /configz prints it (a pointer in the upstream type). */
  readonly keepsZero: boolean;
  /** Must be present in each entry of a list. Printed even if zero. */
  readonly required: boolean;
  readonly flag?: FlagSpec;
  /** The default without --config and --config-dir, if it differs. */
  readonly legacyDefault?: T;
  /** The default if the --config file does not set the field, if it differs. */
  readonly fileDefault?: T;
  /** For defaults that depend on other settings. */
  readonly defaultNote?: string;
  /** The gate that must be enabled for the field to be set. */
  readonly gate?: GateName;
  /** The gate that must be enabled for the field to take effect; it may be set regardless. */
  readonly actsWith?: GateName;
  /** Without it, that of the enclosing object; 'restart' if no row has one. */
  readonly applies?: Applies;
  readonly min?: number;
  readonly max?: number;
  readonly minDuration?: Duration;
  readonly oneOf?: readonly string[];
  /** A path: if relative, it is resolved against the directory of the file. */
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
  readonly applies?: Applies;
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

/** A string with a fixed set of values; validation reports any other. */
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
  if (parsed === undefined) throw new RangeError(`invalid duration in the table: ${text}`);
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

export function integers(options: Common<readonly number[]>): Field<readonly number[]> {
  return row<readonly number[]>('integers', [], options);
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

/** The same row, but it may be unset. */
export function optional<T>(field: Field<T>): Field<T | undefined> {
  return { ...field, optional: true, keepsZero: true, default: undefined };
}

export function defaultsOf<S extends Schema>(schema: S): InferConfig<S> {
  const defaults: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema)) defaults[name] = field.default;
  return defaults as InferConfig<S>;
}

/** Whether the value is the default of the setting, with or without a configuration file. */
export function isDefaultValue(field: Field<unknown>, value: unknown): boolean {
  return [field.default, field.fileDefault, field.legacyDefault].some(
    (each, index) => (index === 0 || each !== undefined) && isSame(each, value),
  );
}

export function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Duration && b instanceof Duration) return a.ns === b.ns;
  return isDeepStrictEqual(a, b);
}

export function isMapKind(kind: Kind): boolean {
  return kind.endsWith('Map');
}
