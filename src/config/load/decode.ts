// Turns the values of a document into values of a table, strictly: every unknown field and every wrong type is a
// problem, and all are reported. Upstream: the strict codecs behind pkg/kubelet/kubeletconfig.
// differs from upstream: there the kubelet starts with a warning when fields are unknown or given twice.
// Invariant: the result has only what was given; defaults come later. A null is kept: it means "as if not written".

import { isObject } from '../../base/guards.ts';
import { Duration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import type { Field, Kind, Schema } from '../schema.ts';
import type { Path } from './document.ts';

export type Given = { readonly [name: string]: unknown };

/** Called for everything that is wrong. */
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

/** Undefined when the value is of the wrong type, which has then been reported. */
function decodeField(field: Field<unknown>, value: unknown, path: Path, report: Report): unknown {
  const fields = field.fields ?? {};
  if (field.kind === 'object') return decodeObject(fields, value, path, report);
  const decode = composites[field.kind];
  if (decode !== undefined) return decode(value, path, report);
  if (field.kind !== 'objects') return decodeScalar(field.kind, value, path, report);
  return listOf((item, at) => decodeEntry(fields, item, at, report))(value, path, report);
}

/** An entry of a list is whole: what it leaves out has its default at once. */
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
  stringMap: mapOf(scalarOf('string')),
  booleanMap: mapOf(scalarOf('boolean')),
  quantityMap: mapOf(scalarOf('quantity')),
  stringListMap: mapOf(listOf(scalarOf('string'))),
};

interface Scalar {
  /** What it must be, in words. */
  readonly wanted: string;
  /** Undefined when it is not. */
  readonly read: (value: unknown) => unknown;
}

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
const text: Scalar = { wanted: 'a string', read: (value) => (typeof value === 'string' ? value : undefined) };
const readDuration = (value: unknown): unknown =>
  typeof value === 'string' ? Duration.parse(value) : undefined;

const scalars: Partial<Record<Kind, Scalar>> = {
  boolean: { wanted: 'true or false', read: (value) => (typeof value === 'boolean' ? value : undefined) },
  int32: { wanted: 'an integer of 32 bits', read: (value) => integer(value, -(2n ** 31n), 2n ** 31n - 1n) },
  int64: { wanted: 'an integer of 64 bits', read: (value) => integer(value, int64Min, int64Max) },
  uint32: {
    wanted: 'a non-negative integer of 32 bits',
    read: (value) => integer(value, 0n, 2n ** 32n - 1n),
  },
  float: {
    wanted: 'a number',
    read: (value) => (isNumberLike(value) && Number.isFinite(Number(value)) ? Number(value) : undefined),
  },
  string: text,
  timestamp: text,
  duration: { wanted: 'a duration such as "1m30s"', read: readDuration },
  time: {
    wanted: 'a duration such as "5s", or a number of nanoseconds',
    read: (value) => {
      const ns = integer(value, int64Min, int64Max);
      return ns === undefined ? readDuration(value) : new Duration(BigInt(ns), true);
    },
  },
  quantity: {
    wanted: 'a quantity such as "10Mi"',
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
    report(path, `must be ${scalar.wanted}, not ${describe(value)}${quoted}`);
  }
  return decoded;
}

function integer(value: unknown, min: bigint, max: bigint): number | undefined {
  // 1e3 and 10.0 are integers too once YAML has read them.
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
  const near = Object.keys(schema).find((known) => known.toLowerCase() === name.toLowerCase());
  return near === undefined ? 'is not a known field' : `is not a known field; did you mean ${near}?`;
}
