// Renders --help from the tables: every flag with its type, default and description, wrapped for a terminal.

import { Duration } from '../duration.ts';
import { describeEffect } from '../effect.ts';
import { listedGates } from '../gates/feature-gates.ts';
import { allFlags, type FlagEntry } from './flag-index.ts';
import { flagTypeNames } from './flag-values.ts';
import { subcommandNames, subcommands, subcommandUsage } from './subcommands.ts';
import { wrap } from './wrap.ts';

export const usageHint = `Usage:
  kubelet [flags]

Run "kubelet --help" for a list of all flags.
`;

const width = 100;
const indent = '      ';
const textIndent = `${indent}    `;

const introduction = `The kubelet is the node agent of Kubernetes. It watches the API server, manifest files and a URL for the pods of this
node, runs them with the container runtime, and reports their status. It does not manage containers that were not
created by Kubernetes.

Most settings belong in a configuration file (--config) with optional drop-ins (--config-dir). The flags for them are
deprecated; they still work and take precedence over the files.

Usage:
  kubelet [flags]
`;

export function helpText(): string {
  return `${introduction}${commandsHelp()}\nFlags:\n${allFlags.map(flagHelp).join('')}`;
}

/** The usage of each command below that of the kubelet, then what it does. */
function commandsHelp(): string {
  const usages = subcommandNames.map((name) => `  ${subcommandUsage(name)}\n`);
  const summaries = subcommandNames.map((name) => `  ${name.padEnd(12)}${subcommands[name].summary}\n`);
  return `${usages.join('')}\nCommands:\n${summaries.join('')}`;
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
    entry.spec.formerName === undefined ? '' : `(DEPRECATED NAME: --${entry.spec.formerName})`,
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

/** The default as help shows it; empty for a zero value, which help omits. */
export function flagDefault(entry: FlagEntry): string {
  const value = entry.field.legacyDefault ?? entry.field.default;
  if (value instanceof Duration) return value.isZero ? '' : value.toString();
  if (Array.isArray(value)) return value.length === 0 ? '' : `[${value.join(',')}]`;
  if (typeof value === 'number') return value === 0 ? '' : String(value);
  if (typeof value === 'boolean') return value ? 'true' : '';
  if (entry.type === 'quantity' || typeof value !== 'string' || value === '') return '';
  return entry.type === 'ip' ? value : JSON.stringify(value);
}
