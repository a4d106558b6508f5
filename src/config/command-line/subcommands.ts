// The commands of the kubelet beside running it: a word in front of all flags. The table is data; src/entry/commands runs them,
// and --help, the manual page and the completions list them.
// Invariant: a word that is not in the table, or not the first argument, stays what it is without this file: a stray argument.
// Imported by the entry file on every start, so it imports next to nothing. Upstream's kubelet has no commands.
import { wrap } from './wrap.ts';

interface SubcommandOption {
  /** Without the dashes. */
  readonly name: string;
  /** The values that it takes. */
  readonly values: readonly string[];
  readonly summary: string;
}

interface SubcommandSpec {
  readonly summary: string;
  /** For the manual page; one paragraph each. */
  readonly description: readonly string[];
  /** The values of its only argument, which is then required; empty if it has none. */
  readonly argument: readonly string[];
  readonly options: readonly SubcommandOption[];
  /** Whether it takes the flags of the kubelet, too. */
  readonly takesKubeletFlags: boolean;
}

const helpWidth = 100;

const table = {
  completion: {
    summary: 'Print the completion script of a shell',
    description: [
      'Prints a script that completes commands, flags and the values of flags. Load it with: source <(kubelet completion bash), or install it where the shell looks for completions.',
    ],
    argument: ['bash', 'zsh', 'fish'],
    options: [],
    takesKubeletFlags: false,
  },
  doctor: {
    summary: 'Check this machine and print what is wrong with the fix',
    description: [
      'Checks this machine with the settings of the kubelet: give it the same flags, such as --config. It prints one line per check (ok, warn or FAIL) and the fix below each finding. No check changes the machine, and each has a deadline.',
      'The exit status is 0 if nothing failed, 1 if a check failed, and 2 if the arguments are wrong. docs/doctor.md describes every check.',
    ],
    argument: [],
    options: [
      { name: 'output', values: ['text', 'json'], summary: 'Print lines of text, or JSON for programs' },
    ],
    takesKubeletFlags: true,
  },
  man: {
    summary: 'Print the manual page kubelet(8)',
    description: [
      'Prints this page in the format of man(7). Read it with: kubelet man | man -l -, or install it as kubelet.8.',
    ],
    argument: [],
    options: [],
    takesKubeletFlags: false,
  },
} as const satisfies Readonly<Record<string, SubcommandSpec>>;

export type SubcommandName = keyof typeof table;

export const subcommands: Readonly<Record<SubcommandName, SubcommandSpec>> = table;

export const subcommandNames = Object.keys(table) as readonly SubcommandName[];

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

/** As `kubelet completion bash|zsh|fish`. */
export function subcommandUsage(name: SubcommandName): string {
  const { argument, options, takesKubeletFlags } = subcommands[name];
  return [
    `kubelet ${name}`,
    ...(argument.length === 0 ? [] : [argument.join('|')]),
    ...options.map((option) => `[--${option.name} ${option.values.join('|')}]`),
    ...(takesKubeletFlags ? ['[flags]'] : []),
  ].join(' ');
}

/** The answer to --help behind the name. */
export function subcommandHelp(name: SubcommandName): string {
  const { description, options, summary } = subcommands[name];
  return [
    `${summary}.`,
    '',
    ...description.flatMap((paragraph) => [...wrap(paragraph, helpWidth), '']),
    'Usage:',
    `  ${subcommandUsage(name)}`,
    ...(options.length === 0 ? [] : ['', 'Options:']),
    ...options.map((option) => `  --${option.name} ${option.values.join('|')}  ${option.summary}`),
    '',
  ].join('\n');
}

/** What is wrong with the arguments of a command without flags of the kubelet; undefined if nothing. */
export function argumentProblem(name: SubcommandName, args: readonly string[]): string | undefined {
  const { argument } = subcommands[name];
  const allowed = argument.length === 0 ? 0 : 1;
  const surplus = args[allowed];
  if (surplus !== undefined) return `unexpected argument ${JSON.stringify(surplus)}`;
  const given = args[0];
  if (argument.length === 0 || (given !== undefined && argument.includes(given))) return undefined;
  const wanted = `one of ${argument.join(', ')}`;
  return given === undefined ? `needs ${wanted}` : `${JSON.stringify(given)} is not ${wanted}`;
}
