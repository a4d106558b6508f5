// Parses the arguments of a command without flags of the kubelet, by its row of the table. Pure.
// Upstream: spf13/pflag, whose forms kubectl accepts: --name=value, --name value, -n value, -nvalue, -fp, and -- before arguments.
import type { SubcommandOption } from './subcommand-table.ts';
import { argumentWords, optionWords, type SubcommandName, subcommands } from './subcommands.ts';

export interface ParsedCommand {
  readonly argument: string | undefined;
  /** By the name of the option; the last use counts. True for an option without a value. */
  readonly options: ReadonlyMap<string, string | true>;
}

interface Use {
  readonly option: SubcommandOption;
  readonly value: string | true;
}

type Problem = { readonly problem: string };

export function parseSubcommand(name: SubcommandName, args: readonly string[]): ParsedCommand | Problem {
  const spec = subcommands[name];
  const options = new Map<string, string | true>();
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (word === '--') {
      words.push(...args.slice(at + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      words.push(word);
      continue;
    }
    const read = readWord(spec.options, word, args[at + 1]);
    if ('problem' in read) return read;
    for (const { option, value } of read.uses) options.set(option.name, value);
    if (read.takesNext) at += 1;
  }
  const problem = argumentProblem(name, words);
  return problem === undefined ? { argument: words[0], options } : { problem };
}

interface ReadWord {
  readonly uses: readonly Use[];
  /** Whether the word behind it is its value. */
  readonly takesNext: boolean;
}

function readWord(
  known: readonly SubcommandOption[],
  word: string,
  next: string | undefined,
): ReadWord | Problem {
  if (!word.startsWith('--')) return readLetters(known, word, next);
  const end = word.indexOf('=');
  const name = end < 0 ? word.slice(2) : word.slice(2, end);
  const option = known.find((each) => each.name === name);
  if (option === undefined) return { problem: `unknown option --${name}` };
  return useOf(option, `--${name}`, end < 0 ? undefined : word.slice(end + 1), next);
}

/** `-fp` is `-f -p`; behind the first letter that takes a value is its value. */
function readLetters(
  known: readonly SubcommandOption[],
  word: string,
  next: string | undefined,
): ReadWord | Problem {
  const uses: Use[] = [];
  for (let at = 1; at < word.length; at++) {
    const option = known.find(({ short }) => short === word[at]);
    if (option === undefined) return { problem: `unknown option -${word.slice(at)}` };
    if (option.values === undefined) {
      uses.push({ option, value: true });
      continue;
    }
    const rest = word.slice(at + 1).replace(/^=/, '');
    const read = useOf(option, `-${option.short}`, rest === '' ? undefined : rest, next);
    return 'problem' in read ? read : { uses: [...uses, ...read.uses], takesNext: read.takesNext };
  }
  return { uses, takesNext: false };
}

function useOf(
  option: SubcommandOption,
  shown: string,
  glued: string | undefined,
  next: string | undefined,
): ReadWord | Problem {
  if (option.values === undefined) {
    if (glued === undefined || glued === 'true') return { uses: [{ option, value: true }], takesNext: false };
    return glued === 'false' ? { uses: [], takesNext: false } : { problem: `${shown} takes no value` };
  }
  const value = glued ?? next;
  if (value === undefined) return { problem: `${shown} needs a value` };
  const words = optionWords(option);
  if (words.length > 0 && !words.includes(value))
    return { problem: `${shown} is one of ${words.join(', ')}, not ${JSON.stringify(value)}` };
  return { uses: [{ option, value }], takesNext: glued === undefined };
}

function argumentProblem(name: SubcommandName, words: readonly string[]): string | undefined {
  const { argument } = subcommands[name];
  const surplus = words[argument === undefined ? 0 : 1];
  if (surplus !== undefined) return `unexpected argument ${JSON.stringify(surplus)}`;
  if (argument === undefined) return undefined;
  const allowed = argumentWords(subcommands[name]);
  const wanted = allowed.length === 0 ? `a ${argument.values}` : `one of ${allowed.join(', ')}`;
  const [given] = words;
  if (given === undefined) return argument.required ? `needs ${wanted}` : undefined;
  return allowed.length === 0 || allowed.includes(given)
    ? undefined
    : `${JSON.stringify(given)} is not ${wanted}`;
}
