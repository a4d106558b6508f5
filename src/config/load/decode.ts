// Decodes the values of a document by a table, strictly: every unknown field and every wrong type is reported as a problem.
// Upstream: the strict codecs behind pkg/kubelet/kubeletconfig.
// differs from upstream: there the kubelet starts with a warning when fields are unknown or specified twice.
// Invariant: the result has only what the document has; defaults are added later. A null is kept and means unset.

import { isObject } from '../../base/guards.ts';
import { Duration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import type { Field, Kind, Schema } from '../schema.ts';
import type { Path } from './document.ts';

export type Given = { readonly [name: string]: unknown };

/** Called for every problem. */
type Report = (path: Path, message: string) => void;

export function decodeObject(schema: Schema, value: unknown, path: Path, report: Report): Given {
  if (!isObject(value)) {
    report(path, `must be an object, not ${describe(value)}`);
    return {};
  }
  const given: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const field = Object.hasOwn(schema, name) ? schema[name] : undefined;
    if (field === undefined) {
      report([...path, name], unknownField(name, schema));
      continue;
    }
    const decoded = inner === null ? null : decodeField(field, inner, [...path, name], report);
    if (decoded !== undefined) given[name] = decoded;
  }
  return given;
}

type Decode = (value: unknown, path: Path, report: Report) => unknown;

/** Undefined when the value has the wrong type, which was reported. */
function decodeField(field: Field<unknown>, value: unknown, path: Path, report: Report): unknown {
  const fields = field.fields ?? {};
  if (field.kind === 'object') return decodeObject(fields, value, path, report);
  const decode = composites[field.kind];
  if (decode !== undefined) return decode(value, path, report);
  if (field.kind !== 'objects') return decodeScalar(field.kind, value, path, report);
  return listOf((item, at) => decodeEntry(fields, item, at, report))(value, path, report);
}

/** Entries of lists are not merged, so that they get their defaults here. */
function decodeEntry(schema: Schema, value: unknown, path: Path, report: Report): Given {
  return fill(schema, decodeObject(schema, value, path, report));
}

function fill(schema: Schema, given: Given): Given {
  const whole: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema)) {
    const value = given[name] ?? undefined;
    if (field.kind === 'object' && isObject(value)) whole[name] = fill(field.fields ?? {}, value);
    else whole[name] = value === undefined ? field.default : value;
  }
  return whole;
}

function listOf(decode: Decode): Decode {
  return (value, path, report) => {
    if (!Array.isArray(value)) {
      report(path, `must be a list, not ${describe(value)}`);
      return undefined;
    }
    const items = value.map((item: unknown, index) => decode(item, [...path, index], report));
    return items.filter((item) => item !== undefined);
  };
}

function mapOf(decode: Decode): Decode {
  return (value, path, report) => {
    if (!isObject(value)) {
      report(path, `must be an object, not ${describe(value)}`);
      return undefined;
    }
    const decoded = Object.entries(value).map(
      ([key, inner]) => [key, inner === null ? null : decode(inner, [...path, key], report)] as const,
    );
    return Object.fromEntries(decoded.filter(([, inner]) => inner !== undefined));
  };
}

function scalarOf(kind: Kind): Decode {
  return (value, path, report) => decodeScalar(kind, value, path, report);
}

const composites: Partial<Record<Kind, Decode>> = {
  strings: listOf(scalarOf('string')),
  integers: listOf(scalarOf('int32')),
  stringMap: mapOf(scalarOf('string')),
  booleanMap: mapOf(scalarOf('boolean')),
  quantityMap: mapOf(scalarOf('quantity')),
  // Headers, which carry credentials.
  stringListMap: withoutValues(mapOf(listOf(scalarOf('string')))),
};

/** The messages do not quote what they found. */
function withoutValues(decode: Decode): Decode {
  return (value, path, report) =>
    decode(value, path, (at, message) => report(at, message.split(', not ', 1).join('')));
}

interface Scalar {
  /** For the error message. */
  readonly expected: string;
  /** Undefined when the value has the wrong type. */
  readonly read: (value: unknown) => unknown;
}

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
const text: Scalar = {
  expected: 'a string',
  read: (value) => (typeof value === 'string' ? value : undefined),
};
const readDuration = (value: unknown): unknown =>
  typeof value === 'string' ? Duration.parse(value) : undefined;

const scalars: Partial<Record<Kind, Scalar>> = {
  boolean: { expected: 'true or false', read: (value) => (typeof value === 'boolean' ? value : undefined) },
  int32: { expected: 'a 32-bit integer', read: (value) => integer(value, -(2n ** 31n), 2n ** 31n - 1n) },
  int64: { expected: 'a 64-bit integer', read: (value) => integer(value, int64Min, int64Max) },
  uint32: {
    expected: 'a 32-bit unsigned integer',
    read: (value) => integer(value, 0n, 2n ** 32n - 1n),
  },
  float: {
    expected: 'a number',
    read: (value) => (isNumberLike(value) && Number.isFinite(Number(value)) ? Number(value) : undefined),
  },
  string: text,
  timestamp: text,
  duration: { expected: 'a duration such as "1m30s"', read: readDuration },
  time: {
    expected: 'a duration such as "5s", or a number of nanoseconds',
    read: (value) => {
      const ns = integer(value, int64Min, int64Max);
      return ns === undefined ? readDuration(value) : new Duration(BigInt(ns), true);
    },
  },
  quantity: {
    expected: 'a quantity such as "10Mi"',
    read: (value) =>
      typeof value === 'string' || isNumberLike(value)
        ? parseQuantity(String(value).trim())?.toString()
        : undefined,
  },
};

function decodeScalar(kind: Kind, value: unknown, path: Path, report: Report): unknown {
  const scalar = scalars[kind] ?? text;
  const decoded = scalar.read(value);
  if (decoded === undefined) {
    const quoted = kind === 'string' && isNumberLike(value) ? '; put it in quotes' : '';
    report(path, `must be ${scalar.expected}, not ${describe(value)}${quoted}`);
  }
  return decoded;
}

function integer(value: unknown, min: bigint, max: bigint): number | undefined {
  // YAML reads 1e3 and 10.0 as numbers, which are integers too.
  const whole = typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value;
  return typeof whole === 'bigint' && whole >= min && whole <= max ? Number(whole) : undefined;
}

function isNumberLike(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return `the string ${JSON.stringify(shorten(value))}`;
  return typeof value === 'object' ? 'an object' : shorten(`${value as number | bigint | boolean}`);
}

function shorten(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
}

function unknownField(name: string, schema: Schema): string {
  const near = Object.keys(schema).find((field) => field.toLowerCase() === name.toLowerCase());
  return near === undefined ? 'unknown field' : `unknown field (did you mean "${near}"?)`;
}
