/** Builds the completion script for bash 3.2 and newer. */
import type { Completion } from "../arguments.ts";
import { allCommands, flagsOf, groupNames, spellings, topWords, verbs } from "./words.ts";

export const bashScript = () => `# bash completion for millrace
_millrace() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path=\${COMP_WORDS[1]} last= i
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    ${offerWords([...topWords.map(({ word }) => word), "--help", "--version"])}
    return
  fi
  case $path in
${groupNames.map(groupCase).join("\n")}
  esac
  for ((i = COMP_CWORD - 1; i > 1; i--)); do
    case \${COMP_WORDS[i]} in -*) last=\${COMP_WORDS[i]}; break ;; esac
  done
  case "$path $prev" in
${allCommands.flatMap(([path, command]) => valueCases(path, command, "each")).join("\n")}
  esac
  case $cur in
    -*)
      case $path in
${allCommands.map(flagCase).join("\n")}
      esac
      return ;;
  esac
  case "$path $last" in
${allCommands.flatMap(([path, command]) => valueCases(path, command, "list")).join("\n")}
  esac
  case $path in
${allCommands.flatMap(argumentCase).join("\n")}
  esac
}
complete -F _millrace millrace
`;

const groupCase = (group: string) => `    ${group})
      if [ "$COMP_CWORD" -eq 2 ]; then
        ${offerWords([...verbs(group).map(({ word }) => word), "--help"])}
        return
      fi
      path="$path \${COMP_WORDS[2]}" ;;`;

type Entry = (typeof allCommands)[number];

/**
 * Returns the `case` branches that complete the values of flags. If `which` is `each`, these are all flags that take a
 * value; if it is `list`, only the flags that take several values.
 */
function valueCases(path: string, command: Entry[1], which: "each" | "list"): string[] {
  const flags = flagsOf(command).filter(([, { kind }]) => (which === "list" ? kind === "list" : kind !== "switch"));
  return flags.map(([name, flag]) => {
    const patterns = spellings(name, flag).map((spelling) => `'${path} ${spelling}'`);
    return `    ${patterns.join(" | ")}) ${offer(flag.complete)}return ;;`;
  });
}

const flagCase = ([path, command]: Entry) =>
  `        '${path}') ${offerWords(flagsOf(command).flatMap(([name, flag]) => spellings(name, flag)))} ;;`;

function argumentCase([path, command]: Entry): string[] {
  const complete = Object.values(command.arguments)[0]?.complete;
  return complete ? [`    '${path}') ${offer(complete)} ;;`] : [];
}

function offer(complete: Completion | undefined): string {
  if (complete === undefined) return "";
  if (typeof complete === "object") return `${offerWords(complete)}; `;
  const kind = complete === "directory" ? "-d" : "-f";
  return `compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen ${kind} -- "$cur")); `;
}

const offerWords = (words: readonly string[]) => `COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$cur"))`;
