// The text of --help: every flag with its type, default and purpose, wrapped for a terminal. Generated from the tables.

import { Duration } from '../duration.ts';
import { describeEffect } from '../effect.ts';
import { listedGates } from '../gates/feature-gates.ts';
import { allFlags, type FlagEntry } from './flag-index.ts';
import { flagTypeNames } from './flag-values.ts';

export const usageHint = `Usage:
  kubelet [flags]

Run "kubelet --help" for the flags.
`;

const width = 100;
const indent = '      ';
const textIndent = `${indent}    `;

const introduction = `The kubelet runs on every node of a cluster. It learns from the API server, from files and from a URL which pods
belong on this node, has the container runtime run them, keeps them as they should be, and reports how they are.
Containers that did not come from a pod are left alone.

Most settings belong in a configuration file (--config) with drop-ins beside it (--config-dir); flags for them still
work, win over the files, and say which field to use.

Usage:
  kubelet [flags]

Flags:
`;

export function helpText(): string {
  return `${introduction}${allFlags.map(flagHelp).join('')}`;
}

function flagHelp(entry: FlagEntry): string {
  const name = entry.short === undefined ? `${indent}--${entry.name}` : `  -${entry.short}, --${entry.name}`;
  const type = shownType(entry);
  const head =
    type === 'bool'
      ? name
      : type.startsWith('version')
        ? `${name}${type.slice('version'.length)}`
        : `${name} ${type}`;
  const value = flagDefault(entry);
  const parts = [
    entry.spec.doc ?? entry.field.doc,
    entry.field.effect === undefined ? '' : describeEffect(entry.field.effect),
    value === '' ? '' : `(default ${value})`,
    entry.deprecated === undefined ? '' : `(DEPRECATED: ${entry.deprecated})`,
  ];
  const body = wrap(parts.filter((part) => part !== '').join(' '), width - textIndent.length);
  const gates = entry.name === 'feature-gates' ? listedGates().map(gateLine) : [];
  return `${head}\n${[...body, ...gates].map((line) => `${textIndent}${line}\n`).join('')}`;
}

function gateLine({ name, spec }: ReturnType<typeof listedGates>[number]): string {
  return `${name}=true|false (${spec.stage} - default=${spec.default})`;
}

export function shownType(entry: FlagEntry): string {
  return entry.spec.shownType ?? flagTypeNames[entry.type];
}

/** The default as help shows it; empty for a zero, which help leaves out. */
export function flagDefault(entry: FlagEntry): string {
  const value = entry.field.legacyDefault ?? entry.field.default;
  if (value instanceof Duration) return value.isZero ? '' : value.toString();
  if (Array.isArray(value)) return value.length === 0 ? '' : `[${value.join(',')}]`;
  if (typeof value === 'number') return value === 0 ? '' : String(value);
  if (typeof value === 'boolean') return value ? 'true' : '';
  if (entry.type === 'quantity' || typeof value !== 'string' || value === '') return '';
  return entry.type === 'ip' ? value : JSON.stringify(value);
}

function wrap(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
