// Parses the value of a flag by its type, as pflag and component-base do. Pure.

import { parseIp } from '../../api/k8s/ip-address.ts';
import { Duration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import type { FlagType } from '../schema.ts';
import { isReportableVersion, upstreamVersion } from '../version.ts';
import { type Parsed, parseReservedMemory, parseTaints } from './flag-objects.ts';

/** The names that help shows for the types, as pflag and component-base have them. */
export const flagTypeNames: Readonly<Record<FlagType, string>> = {
  bool: 'bool',
  int32: 'int32',
  int: 'int',
  string: 'string',
  ip: 'ip',
  duration: 'duration',
  quantity: 'quantity',
  strings: 'strings',
  pairs: 'mapStringString',
  pair: 'mapStringString',
  thresholds: 'mapStringString',
  labels: 'mapStringString',
  gates: 'mapStringBool',
  headers: 'colonSeparatedMultimapStringString',
  taints: '[]v1.Taint',
  'reserved-memory': 'reserved-memory',
  level: 'Level',
  vmodule: 'pattern=N,...',
  version: 'version[=true]',
};

/** Without "=value", these mean true and do not consume the next argument. */
export function isBooleanFlag(type: FlagType): boolean {
  return type === 'bool' || type === 'version';
}

type Reader = (text: string, before: unknown, current: unknown) => Parsed;

/**
 * Parses one use of a flag. `before` is the value after earlier uses on this command line (undefined for the first), `current` the
 * value without the command line.
 */
export function readFlag(type: FlagType, text: string, before: unknown, current: unknown): Parsed {
  return readers[type](text, before, current);
}

const readers: Readonly<Record<FlagType, Reader>> = {
  bool: (text) => {
    const value = parseBool(text);
    return value === undefined ? { problem: 'must be true or false' } : { value };
  },
  int32: (text) => readInteger(text, 32),
  int: (text) => readInteger(text, 64),
  string: (text) => ({ value: text }),
  ip: (text, _before, current) => {
    if (text === '') return { value: current };
    return parseIp(text) !== undefined ? { value: text } : { problem: 'must be an IP address' };
  },
  duration: (text) => {
    const value = Duration.parse(text);
    return value === undefined ? { problem: 'must be a duration such as 300ms, 10s or 2h45m' } : { value };
  },
  quantity: (text) => {
    const quantity = parseQuantity(text);
    return quantity === undefined
      ? { problem: 'must be a quantity such as 512, 1K or 2Ki' }
      : { value: quantity.toString() };
  },
  strings: (text, before) => {
    const fields = parseCsv(text);
    if (fields === undefined) return { problem: 'has unbalanced quotes' };
    return { value: [...((before as readonly string[] | undefined) ?? []), ...fields] };
  },
  pairs: (text, before) => readPairs(text, before, '='),
  thresholds: (text, before) => readPairs(text, before, '<'),
  pair: (text, before) => {
    const at = text.indexOf('=');
    if (at < 0) return { problem: 'must have the form key=value' };
    const map = copyOf<string>(before).set(text.slice(0, at).trim(), text.slice(at + 1).trim());
    return { value: Object.fromEntries(map) };
  },
  labels: (text, before) => {
    const map = copyOf<string>(before);
    for (const item of nonEmpty(text)) {
      const [key, value] = cut(item, '=');
      map.set(key, value ?? '');
    }
    return { value: Object.fromEntries(map) };
  },
  gates: (text, before) => {
    const map = copyOf<boolean>(before);
    for (const item of nonEmpty(text)) {
      const [key, value] = cut(item, '=');
      if (value === undefined) return { problem: `"${item}" does not have the form Name=true or Name=false` };
      const on = parseBool(value);
      if (on === undefined) return { problem: `the value of ${key} must be true or false` };
      map.set(key, on);
    }
    return { value: Object.fromEntries(map) };
  },
  headers: (text, before) => {
    const map = copyOf<readonly string[]>(before);
    for (const item of nonEmpty(text)) {
      const [key, value] = cut(item, ':');
      // The value may be a credential, so that the message must not contain it.
      if (value === undefined) return { problem: 'an entry does not have the form name:value' };
      map.set(key, [...(map.get(key) ?? []), value]);
    }
    return { value: Object.fromEntries(map) };
  },
  taints: (text) => parseTaints(text),
  'reserved-memory': (text, before) => parseReservedMemory(text, before),
  level: (text) => {
    const level = parseLevel(text);
    return level === undefined ? { problem: 'must be a number from 0 to 2147483647' } : { value: level };
  },
  vmodule: (text, before, current) => {
    const items = [...((before ?? current ?? []) as readonly unknown[])];
    for (const item of nonEmpty(text)) {
      const [filePattern, level, more] = item.split('=');
      const verbosity = parseLevel(level ?? '');
      if (filePattern === undefined || filePattern === '' || verbosity === undefined || more !== undefined) {
        return { problem: `"${item}" does not have the form pattern=N` };
      }
      items.push({ filePattern, verbosity });
    }
    return { value: items };
  },
  version: (text) => {
    if (text === 'raw' || isReportableVersion(text)) return { value: text };
    if (text.startsWith('v')) return { problem: `must be a version that starts with ${upstreamVersion}` };
    const value = parseBool(text);
    return value === undefined ? { problem: 'must be true, false or raw' } : { value: value ? 'true' : '' };
  },
};

function readPairs(text: string, before: unknown, separator: string): Parsed {
  const map = copyOf<string>(before);
  for (const item of nonEmpty(text)) {
    const [key, value] = cut(item, separator);
    if (value === undefined) return { problem: `"${item}" does not have the form key${separator}value` };
    map.set(key, value);
  }
  return { value: Object.fromEntries(map) };
}

/** A Map, since keys are user input and may be words such as "constructor". */
function copyOf<V>(before: unknown): Map<string, V> {
  return new Map(Object.entries((before ?? {}) as Record<string, V>));
}

function nonEmpty(text: string): readonly string[] {
  return text.split(',').filter((item) => item !== '');
}

function cut(item: string, separator: string): readonly [string, string | undefined] {
  const at = item.indexOf(separator);
  return at < 0 ? [item.trim(), undefined] : [item.slice(0, at).trim(), item.slice(at + 1).trim()];
}

export function parseBool(text: string): boolean | undefined {
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) return true;
  return /^(0|f|F|false|FALSE|False)$/.test(text) ? false : undefined;
}

function parseLevel(text: string): number | undefined {
  const level = /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return level <= 2147483647 ? level : undefined;
}

const literal =
  /^[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;

function readInteger(text: string, bits: 32 | 64): Parsed {
  if (!literal.test(text)) return { problem: 'must be an integer' };
  const negative = text.startsWith('-');
  const digits = text
    .replace(/^[+-]/, '')
    .replaceAll('_', '')
    .replace(/^0(?=[0-7])/, '0o');
  const value = negative ? -BigInt(digits) : BigInt(digits);
  const limit = 2n ** BigInt(bits - 1);
  if (value < -limit || value >= limit) return { problem: `must fit into ${bits} bits` };
  return { value: Number(value) };
}

/** One record of comma-separated values with Go's quoting rules; undefined for misplaced quotes. */
function parseCsv(text: string): readonly string[] | undefined {
  if (text === '') return [];
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  for (;;) {
    const found = field.exec(text);
    if (found === null) return undefined;
    fields.push(found[1] === undefined ? (found[2] ?? '') : found[1].replaceAll('""', '"'));
    if (found[3] === '') return fields;
  }
}
