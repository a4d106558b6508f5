// The commands of the kubelet beside running it: a word in front of all flags. subcommand-table.ts has them, src/entry/commands
// runs them, and --help, the manual page and the completions list them.
// Invariant: a word that is not in the table, or not the first argument, stays what it is without this file: a stray argument.
// Imported by the entry file on every start, so it imports next to nothing. Upstream's kubelet has no commands.
import { type SubcommandOption, type SubcommandSpec, subcommandTable } from './subcommand-table.ts';
import { wrap } from './wrap.ts';

const helpWidth = 100;
/** A longer list of options is abbreviated in the usage. */
const mostShownOptions = 2;

export type SubcommandName = keyof typeof subcommandTable;

export const subcommands: Readonly<Record<SubcommandName, SubcommandSpec>> = subcommandTable;

export const subcommandNames = Object.keys(subcommandTable) as readonly SubcommandName[];

interface FoundSubcommand {
  readonly name: SubcommandName;
  /** What follows the name. */
  readonly args: readonly string[];
}

export function findSubcommand(argv: readonly string[]): FoundSubcommand | undefined {
  const [first, ...args] = argv;
  const name = subcommandNames.find((each) => each === first);
  return name === undefined ? undefined : { name, args };
}

/** The words that its argument may be; empty if it takes none, or any. */
export function argumentWords({ argument }: SubcommandSpec): readonly string[] {
  return typeof argument?.values === 'object' ? argument.values : [];
}

/** The words that the option's value may be; empty if it takes none, or any. */
export function optionWords({ values }: SubcommandOption): readonly string[] {
  return typeof values === 'object' ? values : [];
}

/** As `kubelet completion bash|zsh|fish`. */
export function subcommandUsage(name: SubcommandName): string {
  const { argument, options, takesKubeletFlags } = subcommands[name];
  const own =
    options.length > mostShownOptions ? ['[options]'] : options.map((each) => `[${longTerm(each)}]`);
  return [
    `kubelet ${name}`,
    ...(argument === undefined ? [] : [argumentTerm(argument)]),
    ...own,
    ...(takesKubeletFlags ? ['[flags]'] : []),
  ].join(' ');
}

function argumentTerm({ required, values }: NonNullable<SubcommandSpec['argument']>): string {
  const term = typeof values === 'string' ? values : values.join('|');
  return required ? term : `[${term}]`;
}

function longTerm({ name, values }: SubcommandOption): string {
  if (values === undefined) return `--${name}`;
  return `--${name} ${typeof values === 'string' ? values : values.join('|')}`;
}

/** As `-n, --namespace NAME`. */
export function optionTerm(option: SubcommandOption): string {
  return `${option.short === undefined ? '' : `-${option.short}, `}${longTerm(option)}`;
}

/** The answer to --help behind the name. */
export function subcommandHelp(name: SubcommandName): string {
  const { description, options, summary } = subcommands[name];
  const width = Math.max(0, ...options.map((option) => optionTerm(option).length));
  return [
    `${summary}.`,
    '',
    ...description.flatMap((paragraph) => [...wrap(paragraph, helpWidth), '']),
    'Usage:',
    `  ${subcommandUsage(name)}`,
    ...(options.length === 0 ? [] : ['', 'Options:']),
    ...options.map((option) => `  ${optionTerm(option).padEnd(width)}  ${option.summary}`),
    '',
  ].join('\n');
}
