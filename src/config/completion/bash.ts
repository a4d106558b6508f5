// The completion script of bash 4 and newer, without the package bash-completion. Pure.
import { allFlags } from '../command-line/flag-index.ts';
import {
  argumentWords,
  type SubcommandName,
  subcommandNames,
  subcommands,
} from '../command-line/subcommands.ts';
import { optionCompletion, type ValueCompletion, valueCompletion } from './value-completion.ts';

export function bashCompletion(): string {
  const flags = allFlags.map((entry) => (entry.isBoolean ? `--${entry.name}` : `--${entry.name}=`));
  return `# bash completion of the kubelet, written by "kubelet completion bash".
${helpers}
# Completes the value $2 of the flag $1 of the command $4. $3 is put in front of each candidate.
_kubelet_value() {
  case $4$1 in
${ownValueCases()}  esac
  case $1 in
${valueCases()}  esac
}

_kubelet_flags=${quoted(flags.join(' '))}

${main}
${commandCases()}    esac
    _kubelet_flag "$cur" "$prev" "\${flags-$_kubelet_flags$own}" "$command"
  fi
  # Bash replaces only what follows the last of its word breaks.
  local replaced=\${COMP_WORDS[COMP_CWORD]}
  [[ $replaced =~ ^[=:]+$ ]] && replaced=
  local before=\${cur%"$replaced"}
  local index
  for index in "\${!COMPREPLY[@]}"; do COMPREPLY[index]=\${COMPREPLY[index]#"$before"}; done
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}

complete -F _kubelet kubelet
`;
}

const helpers = String.raw`
_kubelet_words() { # WORDS CURRENT PREFIX
  mapfile -t COMPREPLY < <(compgen -P "$3" -W "$1" -- "$2")
}

_kubelet_list() { # WORDS CURRENT PREFIX: the last of a list with commas
  _kubelet_words "$1" "${'$'}{2##*,}" "$3${'$'}{2%"${'$'}{2##*,}"}"
}

_kubelet_gates() { # NAMES CURRENT PREFIX: a=true,b=false
  local item=${'$'}{2##*,}
  local before=$3${'$'}{2%"$item"}
  if [[ $item == *=* ]]; then
    _kubelet_words 'true false' "${'$'}{item#*=}" "$before${'$'}{item%%=*}="
  else
    mapfile -t COMPREPLY < <(compgen -P "$before" -S = -W "$1" -- "$item")
    compopt -o nospace 2>/dev/null
  fi
}

_kubelet_paths() { # ACTION CURRENT PREFIX
  mapfile -t COMPREPLY < <(compgen -P "$3" -A "$1" -- "$2")
  compopt -o filenames 2>/dev/null
}
`;

/** Below: COMP_WORDS joined again into `words`, since bash splits words at = and :. */
const main = String.raw`_kubelet_flag() { # CURRENT PREVIOUS FLAGS COMMAND
  local name=${'$'}{2//_/-}
  if [[ $1 == --*=* ]]; then
    name=${'$'}{1%%=*}
    _kubelet_value "${'$'}{name//_/-}" "${'$'}{1#*=}" "$name=" "$4"
  elif [[ -n $name && " $3 " == *" $name= "* ]]; then
    _kubelet_value "$name" "$1" '' "$4"
  else
    _kubelet_words "$3" "$1" ''
  fi
}

_kubelet() {
  local -a words=()
  local glued= piece i
  COMPREPLY=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    piece=${'$'}{COMP_WORDS[i]}
    if ((${'$'}{#words[@]} > 0)) && [[ -n $glued || $piece =~ ^[=:]+$ ]]; then
      words[${'$'}{#words[@]} - 1]+=$piece
    else
      words+=("$piece")
    fi
    glued=
    [[ $piece =~ ^[=:]+$ ]] && glued=1
  done
  local last=$((${'$'}{#words[@]} - 1))
  local cur=${'$'}{words[last]} prev= own= command= flags
  unset flags
  ((last > 0)) && prev=${'$'}{words[last - 1]}
  if ((last == 0)) && [[ $cur != -* ]]; then
    _kubelet_words ${quoted(subcommandNames.join(' '))} "$cur" ''
  else
    case ${'$'}{words[0]} in`;

function commandCases(): string {
  return subcommandNames.map(commandCase).join('');
}

function commandCase(name: SubcommandName): string {
  const { options, takesKubeletFlags } = subcommands[name];
  const own = options.map((option) => ` --${option.name}${option.values === undefined ? '' : '='}`).join('');
  if (takesKubeletFlags) return `      ${name}) own=${quoted(own)} command=${name} ;;\n`;
  if (options.length > 0) return `      ${name}) flags=${quoted(`--help${own}`)} command=${name} ;;\n`;
  return `      ${name})
        ((last == 1)) && _kubelet_words ${quoted([...argumentWords(subcommands[name]), '--help'].join(' '))} "$cur" ''
        return 0
        ;;\n`;
}

function valueCases(): string {
  return allFlags.map((entry) => valueCase(`--${entry.name}`, valueAction(valueCompletion(entry)))).join('');
}

/** The values of the options of commands, which may have the names of flags. */
function ownValueCases(): string {
  return subcommandNames
    .flatMap((name) =>
      subcommands[name].options.map((option) => {
        const completion = optionCompletion(option);
        const action = completion === undefined ? undefined : valueAction(completion);
        return completion === undefined ? '' : valueCase(`${name}--${option.name}`, action ?? ':', true);
      }),
    )
    .join('');
}

function valueCase(pattern: string, action: string | undefined, isLast = false): string {
  if (action === undefined) return '';
  return `    ${pattern}) ${action} "$2" "$3"${isLast ? '; return' : ''} ;;\n`;
}

function valueAction(completion: ValueCompletion): string | undefined {
  switch (completion.kind) {
    case 'words':
      return `_kubelet_words ${quoted(completion.words.join(' '))}`;
    case 'list':
      return `_kubelet_list ${quoted(completion.words.join(' '))}`;
    case 'gates':
      return `_kubelet_gates ${quoted(completion.names.join(' '))}`;
    case 'file':
      return '_kubelet_paths file';
    case 'directory':
      return '_kubelet_paths directory';
    case 'none':
      return undefined;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
