/** Builds the completion script for zsh, based on its function `_arguments`. */
import type { Command, Completion, Flag } from "../arguments.ts";
import { allCommands, flagsOf, groupNames, type Offer, spellings, topWords, verbs } from "./words.ts";

export const zshScript = () => `#compdef millrace
# zsh completion for millrace
_millrace() {
  local -a offers
  local command=$words[2]
  if (( CURRENT == 2 )); then
    ${describe(topWords)}
    return
  fi
  case $command in
${groupNames.map(groupCase).join("\n")}
    *) shift words; (( CURRENT-- )) ;;
  esac
  case $command in
${allCommands.map(commandCase).join("\n")}
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _millrace "$@"
else
  compdef _millrace millrace
fi
`;

/**
 * Returns the `case` branch of a group of commands. The branch shifts the words, because `_arguments` expects the
 * command as the first word.
 */
const groupCase = (group: string) => `    ${group})
      if (( CURRENT == 3 )); then
        ${describe(verbs(group))}
        return
      fi
      command="$command $words[3]"
      shift 2 words
      (( CURRENT -= 2 )) ;;`;

const describe = (offers: readonly Offer[]) =>
  `offers=(${offers.map(({ word, help }) => quoted(`${word}:${help}`)).join(" ")}); _describe command offers`;

function commandCase([path, command]: readonly [string, Command]): string {
  const specs = [...flagsOf(command).map(([name, flag]) => flagSpec(name, flag)), ...argumentSpecs(command)];
  return `    '${path}')\n      _arguments \\\n${specs.map((spec) => `        ${spec}`).join(" \\\n")} ;;`;
}

/**
 * Returns the `_arguments` spec of a flag, such as `'(-n --name)'{-n,--name}'[help]:NAME:'`. The part in parentheses
 * makes zsh offer only one of the two forms.
 */
function flagSpec(name: string, flag: Flag): string {
  const names = spellings(name, flag);
  const repeat = flag.kind === "list" || flag.kind === "texts" ? "*" : "";
  const value = flag.kind === "switch" ? "" : `:${escaped(flag.value ?? name)}:${action(flag.complete)}`;
  const tail = quoted(`[${escaped(flag.help)}]${value}`);
  return names.length > 1 ? `'(${names.join(" ")})'{${names.join(",")}}${tail}` : `'${repeat}${names[0]}'${tail}`;
}

const argumentSpecs = (command: Command) =>
  Object.entries(command.arguments).map(([name, { complete, optional, many }], index) =>
    quoted(`${many ? "*" : index + 1}${optional ? "::" : ":"}${escaped(name)}:${action(complete)}`),
  );

function action(complete: Completion | undefined): string {
  if (complete === undefined) return " ";
  if (typeof complete === "object") return `(${complete.join(" ")})`;
  return complete === "directory" ? "_files -/" : "_files";
}

const escaped = (text: string) => text.replaceAll(/[[\]:\\]/g, "\\$&");
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
