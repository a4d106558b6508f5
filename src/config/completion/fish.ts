// The completion script of fish 3 and newer. Pure.
import { allFlags, type FlagEntry } from '../command-line/flag-index.ts';
import type { SubcommandOption } from '../command-line/subcommand-table.ts';
import {
  argumentWords,
  type SubcommandName,
  subcommandNames,
  subcommands,
} from '../command-line/subcommands.ts';
import { optionCompletion, shortText, type ValueCompletion, valueCompletion } from './value-completion.ts';

export function fishCompletion(): string {
  const withoutFlags = subcommandNames.filter((name) => !subcommands[name].takesKubeletFlags);
  return `# fish completion of the kubelet, written by "kubelet completion fish".
${helpers}
# Whether the flags of the kubelet are accepted.
function __kubelet_takes_flags
    set -l words (commandline -opc)
    not contains -- "$words[2]" ${withoutFlags.join(' ')}
end

complete -c kubelet -f
${subcommandNames.flatMap(commandLines).join('\n')}
${allFlags.map(flagLine).join('\n')}
`;
}

const helpers = String.raw`
function __kubelet_value
    string replace -r '^--[a-z0-9_-]+=' '' -- (commandline -ct)
end

# The arguments as values of a list with commas.
function __kubelet_list
    set -l before (string match -r '^.*,' -- (__kubelet_value))
    for word in $argv
        echo -- "$before$word"
    end
end

function __kubelet_is_first
    test (count (commandline -opc)) -eq 1
end

# Whether the command is the argument, and its own argument is next.
function __kubelet_is_argument_of
    set -l words (commandline -opc)
    test (count $words) -eq 2 -a "$words[2]" = "$argv[1]"
end

function __kubelet_is_command
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"
end
`;

function commandLines(name: SubcommandName): readonly string[] {
  const { options, summary } = subcommands[name];
  return [
    `complete -c kubelet -n __kubelet_is_first -a ${name} -d ${quoted(summary)}`,
    ...argumentWords(subcommands[name]).map(
      (word) => `complete -c kubelet -n '__kubelet_is_argument_of ${name}' -a ${word}`,
    ),
    ...options.map(
      (option) =>
        `complete -c kubelet -n '__kubelet_is_command ${name}' -l ${option.name}${option.short === undefined ? '' : ` -s ${option.short}`}${optionValue(option)} -d ${quoted(option.summary)}`,
    ),
  ];
}

function optionValue(option: SubcommandOption): string {
  const completion = optionCompletion(option);
  return completion === undefined ? '' : valueOptions(completion, false);
}

function flagLine(entry: FlagEntry): string {
  const { field, isBoolean, name, short, spec } = entry;
  const letter = short === undefined || short === name ? '' : ` -s ${short}`;
  const value = valueOptions(valueCompletion(entry), isBoolean);
  return `complete -c kubelet -n __kubelet_takes_flags -l ${name}${letter}${value} -d ${quoted(shortText(spec.doc ?? field.doc))}`;
}

function valueOptions(completion: ValueCompletion, isBoolean: boolean): string {
  switch (completion.kind) {
    case 'words':
      return `${isBoolean ? '' : ' -x'} -a ${quoted(completion.words.join(' '))}`;
    case 'list':
      return ` -x -a ${quoted(`(__kubelet_list ${completion.words.join(' ')})`)}`;
    case 'gates':
      return ` -x -a ${quoted(`(__kubelet_list ${completion.names.flatMap((each) => [`${each}=true`, `${each}=false`]).join(' ')})`)}`;
    case 'file':
      return ' -r -F';
    case 'directory':
      return " -x -a '(__fish_complete_directories (__kubelet_value))'";
    case 'none':
      return ' -x';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
