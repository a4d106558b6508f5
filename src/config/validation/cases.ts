// A case of the validation tables, and how it is run: by loading a command line and a file, as at a real start.

import { loadCommandLine } from '../command-line/load-command-line.ts';
import { header, memoryFiles } from '../fixtures/memory-files.ts';
import type { HostFacts } from './context.ts';

export interface Situation {
  /** Fields of the config file. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Gates to enable in the file. */
  readonly on?: readonly string[];
  readonly off?: readonly string[];
  readonly argv?: readonly string[];
  readonly host?: HostFacts;
}

/** A name, a situation, and a part of each expected violation, in order; none if the situation is valid. */
export type Case = readonly [name: string, situation: Situation, ...expected: readonly string[]];

export async function violations({ set, on, off, argv, host }: Situation): Promise<readonly string[]> {
  const featureGates = Object.fromEntries([
    ...(on ?? []).map((name) => [name, true] as const),
    ...(off ?? []).map((name) => [name, false] as const),
  ]);
  const text = `${header}featureGates: ${JSON.stringify(featureGates)}\n${Object.entries(set ?? {})
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('')}`;
  const outcome = await loadCommandLine({
    argv: ['--config=/k.yaml', ...(argv ?? [])],
    files: memoryFiles({ '/k.yaml': text }),
    host: () => Promise.resolve(host ?? { cgroupVersion: 2 }),
  });
  if (outcome.kind === 'run') return [];
  return outcome.text
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

export function titleOf(name: string, expected: readonly string[]): string {
  return `${expected.length === 0 ? 'accepts' : 'rejects'} ${name}`;
}

/** Empty if the violations are as expected; otherwise both, for the failure message. */
export async function disagreement(situation: Situation, expected: readonly string[]): Promise<string> {
  const found = await violations(situation);
  const agree =
    found.length === expected.length && found.every((line, index) => line.includes(expected[index] ?? line));
  return agree ? '' : `found:\n${found.join('\n')}\nexpected:\n${expected.join('\n')}`;
}
