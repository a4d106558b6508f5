// The completion script of zsh. Pure.
import { allFlags, type FlagEntry } from '../command-line/flag-index.ts';
import type { SubcommandOption } from '../command-line/subcommand-table.ts';
import {
  argumentWords,
  type SubcommandName,
  subcommandNames,
  subcommands,
} from '../command-line/subcommands.ts';
import { optionCompletion, shortText, type ValueCompletion, valueCompletion } from './value-completion.ts';

export function zshCompletion(): string {
  return `#compdef kubelet
# zsh completion of the kubelet, written by "kubelet completion zsh".

${allFlags.flatMap(listFunction).join('')}_kubelet() {
  local -a flags commands
  flags=(
${allFlags.flatMap(flagSpecs).map(indented).join('')}  )
  commands=(
${subcommandNames.map((name) => indented(quoted(`${name}:${subcommands[name].summary}`))).join('')}  )
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    _describe command commands
    return
  fi
  case $words[2] in
${subcommandNames.map(commandCase).join('')}  esac
  _arguments -s -S $flags
}

if [[ $funcstack[1] == _kubelet ]]; then
  _kubelet "$@"
else
  compdef _kubelet kubelet
fi
`;
}

function indented(line: string): string {
  return `    ${line}\n`;
}

function commandCase(name: SubcommandName): string {
  const { argument, options, takesKubeletFlags } = subcommands[name];
  const own = options.flatMap(optionSpecs).join(' ');
  if (takesKubeletFlags)
    return `    ${name})
      flags+=(${own})
      shift words
      ((CURRENT--))
      ;;\n`;
  if (options.length === 0)
    return `    ${name})
      ((CURRENT == 3)) && compadd -- ${[...argumentWords(subcommands[name]), '--help'].join(' ')}
      return
      ;;\n`;
  const word = argument === undefined ? '' : ` ${quoted(`1:${String(argument.values)}: `)}`;
  return `    ${name})
      shift words
      ((CURRENT--))
      _arguments -s -S '--help[Describe the command]' ${own}${word}
      return
      ;;\n`;
}

function optionSpecs(option: SubcommandOption): readonly string[] {
  const { name, short, summary } = option;
  const completion = optionCompletion(option);
  const text = optionText(summary);
  if (completion === undefined)
    return [`--${name}[${text}]`, ...(short === undefined ? [] : [`-${short}[${text}]`])].map(quoted);
  const value = `[${text}]:value:${wordsOrPaths(completion)}`;
  return [`--${name}=${value}`, ...(short === undefined ? [] : [`-${short}+${value}`])].map(quoted);
}

/** One function for each flag whose value is a list. */
function listFunction(entry: FlagEntry): readonly string[] {
  const completion = valueCompletion(entry);
  const values =
    completion.kind === 'gates'
      ? completion.names.map((name) => quoted(`${name}:value:(true false)`))
      : completion.kind === 'list'
        ? completion.words.map(quoted)
        : undefined;
  if (values === undefined) return [];
  return [
    `${listName(entry)}() {\n  _values -s , ${quoted(entry.name)} \\\n    ${values.join(' \\\n    ')}\n}\n\n`,
  ];
}

function listName({ name }: FlagEntry): string {
  return `_kubelet_${name.replaceAll('-', '_')}`;
}

function flagSpecs(entry: FlagEntry): readonly string[] {
  const { field, isBoolean, name, short, spec } = entry;
  const action = valueAction(entry, valueCompletion(entry));
  const text = optionText(shortText(spec.doc ?? field.doc));
  // Only the value behind a = belongs to a boolean flag; a list may be repeated.
  const long = isBoolean ? `--${name}=-[${text}]::value:${action}` : `--${name}=[${text}]:value:${action}`;
  const isRepeatable = /s$|Map$/.test(field.kind);
  const result = [quoted(`${isRepeatable ? '*' : ''}${long}`)];
  if (short !== undefined)
    result.push(quoted(isBoolean ? `-${short}[${text}]` : `-${short}+[${text}]:value:${action}`));
  return result;
}

function valueAction(entry: FlagEntry, completion: ValueCompletion): string {
  return completion.kind === 'list' || completion.kind === 'gates'
    ? listName(entry)
    : wordsOrPaths(completion);
}

function wordsOrPaths(completion: ValueCompletion): string {
  switch (completion.kind) {
    case 'words':
      return `(${completion.words.join(' ')})`;
    case 'file':
      return '_files';
    case 'directory':
      return '_files -/';
    case 'gates':
    case 'list':
    case 'none':
      return ' ';
  }
}

/** For the brackets of _arguments. */
function optionText(text: string): string {
  return text.replaceAll(/[\\[\]:]/g, String.raw`\$&`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
