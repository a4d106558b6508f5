// Every flag with its value, for /flagz. Upstream: k8s.io/apiserver/pkg/server/flagz.
// Invariant: values that may be credentials are masked.
import { redactUrl } from '../base/log/redact-url.ts';
import { allFlags, type FlagEntry, foldUses } from './command-line/flag-index.ts';
import type { ParsedArgs } from './command-line/parse-args.ts';
import { isSecret, isUrl } from './command-line/redact-arguments.ts';
import { Duration } from './duration.ts';

type FlagValue = readonly [name: string, value: string];

/** In alphabetical order; a flag that is not on the command line has its default. */
export function flagValues(args: ParsedArgs): readonly FlagValue[] {
  return allFlags.map((entry) => {
    if (isSecret(entry)) return [entry.name, 'CLASSIFIED'];
    const start = entry.field.legacyDefault ?? entry.field.default;
    const text = valueText(entry, foldUses(entry, args.uses.get(entry) ?? [], start).value);
    return [entry.name, isUrl(entry) ? redactUrl(text) : text];
  });
}

interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

interface Reservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string>>;
}

interface Pattern {
  readonly filePattern: string;
  readonly verbosity: number;
}

function valueText(entry: FlagEntry, value: unknown): string {
  if (value instanceof Duration) return value.toString();
  switch (entry.type) {
    case 'strings':
      return `[${(value as readonly string[]).join(',')}]`;
    case 'taints':
      return (value as readonly Taint[])
        .map(({ key, value, effect }) => `${key}=${value}:${effect}`)
        .join(',');
    case 'vmodule':
      return (value as readonly Pattern[])
        .map(({ filePattern, verbosity }) => `${filePattern}=${verbosity}`)
        .join(',');
    case 'reserved-memory':
      return (value as readonly Reservation[])
        .map(({ numaNode, limits }) => `${numaNode}:${pairs(limits, '=')}`)
        .toSorted()
        .join(',');
    case 'thresholds':
      return pairs(value, '<');
    case 'pairs':
    case 'pair':
    case 'labels':
    case 'gates':
      return pairs(value, '=');
    case 'headers':
      return '';
    case 'version':
      return value === '' ? 'false' : (value as string);
    case 'bool':
    case 'int32':
    case 'int':
    case 'string':
    case 'ip':
    case 'duration':
    case 'quantity':
    case 'level':
      return `${value as string | number | boolean}`;
  }
}

function pairs(map: unknown, separator: string): string {
  return Object.entries(map as Readonly<Record<string, string | boolean>>)
    .map(([key, value]) => `${key}${separator}${value}`)
    .toSorted()
    .join(',');
}
