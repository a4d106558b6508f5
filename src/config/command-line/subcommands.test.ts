import { describe, expect, test } from 'vitest';
import { memoryFiles } from '../fixtures/memory-files.ts';
import { allFlags } from './flag-index.ts';
import { helpText } from './help.ts';
import { loadCommandLine } from './load-command-line.ts';
import {
  findSubcommand,
  subcommandHelp,
  subcommandNames,
  subcommands,
  subcommandUsage,
} from './subcommands.ts';

describe('findSubcommand', () => {
  const cases = [
    [['man'], { name: 'man', args: [] }],
    [['completion', 'bash'], { name: 'completion', args: ['bash'] }],
    [[], undefined],
    [['go'], undefined],
    [['Man'], undefined],
    [['--v=2', 'man'], undefined],
    [['--', 'man'], undefined],
    [['constructor'], undefined],
  ] as const;
  for (const [argv, found] of cases)
    test(`kubelet ${argv.join(' ')}`, () => expect(findSubcommand(argv)).toEqual(found));
});

test('a word behind a flag stays a stray argument', async () => {
  const outcome = await loadCommandLine({ argv: ['--v=2', 'man'], files: memoryFiles({}) });
  expect(outcome).toMatchObject({
    kind: 'error',
    exitCode: 1,
    text: expect.stringContaining('unknown command "man": the kubelet takes flags only') as string,
  });
});

test('--help lists every command with its usage, and so does the help of the command', () => {
  for (const name of subcommandNames) {
    expect(helpText()).toContain(`\n  ${subcommandUsage(name)}\n`);
    expect(helpText()).toContain(subcommands[name].summary);
    expect(subcommandHelp(name)).toContain(`Usage:\n  ${subcommandUsage(name)}\n`);
  }
});

test('an option of a command that takes flags of the kubelet is no flag of the kubelet', () => {
  const flags = new Set(allFlags.map(({ name }) => name));
  const clashes = subcommandNames
    .filter((name) => subcommands[name].takesKubeletFlags)
    .flatMap((name) => subcommands[name].options.filter((option) => flags.has(option.name)));
  expect(clashes).toEqual([]);
});
