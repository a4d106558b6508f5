// What a case of the validation table looks like, and how it is run: through the same door as a real start.

import { loadCommandLine } from '../command-line/load-command-line.ts';
import { header, memoryFiles } from '../fixtures/memory-files.ts';
import type { HostFacts } from './context.ts';

export interface Situation {
  /** Fields of the config file. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Gates to switch on in the file. */
  readonly on?: readonly string[];
  readonly off?: readonly string[];
  readonly argv?: readonly string[];
  readonly host?: HostFacts;
}

/** A name, a situation, and what must be said: nothing, or for each violation a piece of its line, in order. */
export type Case = readonly [name: string, situation: Situation, ...said: readonly string[]];

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

export function titleOf(name: string, said: readonly string[]): string {
  return `${said.length === 0 ? 'accepts' : 'refuses'} ${name}`;
}

/** Empty when what is found is what must be said; otherwise both, to read. */
export async function disagreement(situation: Situation, said: readonly string[]): Promise<string> {
  const found = await violations(situation);
  const agree =
    found.length === said.length && found.every((line, index) => line.includes(said[index] ?? line));
  return agree ? '' : `found:\n${found.join('\n')}\nexpected:\n${said.join('\n')}`;
}
