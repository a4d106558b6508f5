// Compares the marks in the tables with the sources: what is marked "no effect" must not be read outside src/config, and
// what is not marked must be. A name is searched for as a word, comments aside; being validated or shown is not a read.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type GateName, type GateSpec, gateTable } from './gates/table.ts';
import type { Field, Schema } from './schema.ts';
import { kubeletConfiguration } from './table/kubelet-configuration.ts';
import { kubeletFlags } from './table/kubelet-flags.ts';

/** Settings that are acted on while the configuration is loaded, with the file that does it. */
const actedOnByLoading: Readonly<Record<string, string>> = {
  config: 'load/load.ts',
  configDir: 'load/load.ts',
  failCgroupV1: 'validation/node-rules.ts',
  featureGates: 'load/load.ts',
  help: 'command-line/load-command-line.ts',
  imageCredentialProviderConfig: 'load/load.ts',
  mergeDefaultEvictionSettings: 'load/complete.ts',
  version: 'command-line/load-command-line.ts',
  AllAlpha: 'gates/feature-gates.ts',
  AllBeta: 'gates/feature-gates.ts',
  CPUManagerPolicyAlphaOptions: 'validation/manager-rules.ts',
  CPUManagerPolicyBetaOptions: 'validation/manager-rules.ts',
  TopologyManagerPolicyOptions: 'validation/manager-rules.ts',
  LoggingBetaOptions: 'validation/serving-rules.ts',
};

/** Files where the word stands for something else than the setting of this name. */
const sameWord: Readonly<Record<string, readonly string[]>> = {
  contentType: ['api/ports/api-client.ts', 'edge/apiserver/client.ts'],
  containerd: ['resources/cgroups/pod-cgroups.ts'],
};

const root = new URL('../', import.meta.url);
const read = (path: string): string => withoutComments(readFileSync(new URL(path, root), 'utf8'));
const sources = readdirSync(root, { recursive: true })
  .map(String)
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .filter((path) => !/^config\/|\/fixtures\/|\/generated\//.test(path))
  .map((path) => ({ path, text: read(path) }));

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}

function readersOf(name: string, pattern: RegExp): readonly string[] {
  const others = sameWord[name] ?? [];
  return sources
    .filter(({ path, text }) => !others.includes(path) && pattern.test(text))
    .map(({ path }) => path);
}

/** Rows that hold a value of their own, or a mark for all that is below them. */
function rows(schema: Schema): readonly (readonly [name: string, row: Field<unknown>])[] {
  return Object.entries(schema).flatMap(([name, row]) =>
    row.effect === undefined && row.kind === 'object' ? rows(row.fields ?? {}) : [[name, row] as const],
  );
}

function hasNoEffect(row: { readonly effect?: Field<unknown>['effect'] }): boolean {
  return row.effect !== undefined && row.effect.kind !== 'partly';
}

const fields = [...rows(kubeletConfiguration), ...rows(kubeletFlags)];
const gates = Object.entries(gateTable) as readonly (readonly [GateName, GateSpec])[];
const usedGates: ReadonlySet<string | undefined> = new Set(
  fields.filter(([, row]) => !hasNoEffect(row)).map(([, { gate, actsWith }]) => gate ?? actsWith),
);

test('every field and flag is either read outside src/config or marked as having no effect', () => {
  const wrong = fields.flatMap(([name, row]) => {
    const readers = readersOf(name, new RegExp(`\\b${name}\\b`));
    if (hasNoEffect(row)) return readers.length === 0 ? [] : [`${name} is marked, but read in ${readers[0]}`];
    const isActedOn = readers.length > 0 || name in actedOnByLoading;
    return isActedOn ? [] : [`${name} is not marked, and nothing reads it`];
  });
  expect(wrong).toEqual([]);
});

test('every gate is either used or marked as having no effect', () => {
  const wrong = gates.flatMap(([name, spec]) => {
    const readers = readersOf(name, new RegExp(`\\bgates\\.${name}\\b|\\bgate: '${name}'`));
    const uses = [...readers, ...(usedGates.has(name) ? ['a field'] : [])];
    if (hasNoEffect(spec)) return uses.length === 0 ? [] : [`${name} is marked, but used by ${uses[0]}`];
    return uses.length > 0 || name in actedOnByLoading ? [] : [`${name} is not marked, and nothing reads it`];
  });
  expect(wrong).toEqual([]);
});

test('settings that take effect while loading are unmarked and used by the listed file', () => {
  const marked = new Set([...fields, ...gates].filter(([, row]) => hasNoEffect(row)).map(([name]) => name));
  const wrong = Object.entries(actedOnByLoading).filter(
    ([name, path]) => marked.has(name) || !new RegExp(`\\b${name}\\b`).test(read(`config/${path}`)),
  );
  expect(wrong).toEqual([]);
});
