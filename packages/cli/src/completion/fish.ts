/** Builds the completion script for fish. */
import type { Completion } from "../arguments.ts";
import { allCommands, flagsOf, groupNames, topWords, verbs } from "./words.ts";

export const fishScript = () => `# fish completion for millrace
function __millrace_in
    set -l words (commandline -opc)
    set -e words[1]
    set -l depth (count $argv)
    test (count $words) -ge $depth; and test "$words[1..$depth]" = "$argv"
end
function __millrace_after
    set -l words (commandline -opc)
    set -e words[1]
    test "$words" = "$argv"
end
complete -c millrace -f
complete -c millrace -n __millrace_after -s V -l version -d 'Show the version'
${topWords.map(({ word, help }) => line("__millrace_after", `-a ${word}`, help)).join("\n")}
${groupNames.flatMap(groupLines).join("\n")}
${allCommands.flatMap(commandLines).join("\n")}
`;

const groupLines = (group: string) =>
  verbs(group).map(({ word, help }) => line(`__millrace_after ${group}`, `-a ${word}`, help));

function commandLines([path, command]: (typeof allCommands)[number]): string[] {
  const flags = flagsOf(command).map(([name, flag]) => {
    const short = flag.short ? `-s ${flag.short} ` : "";
    // -r: a value must follow; -x: a value must follow, and it is not a file name.
    const value = flag.kind === "switch" ? "" : ` ${flag.complete === "file" ? "-r" : "-x"}${offer(flag.complete)}`;
    return line(`__millrace_in ${path}`, `${short}-l ${name}${value}`, flag.help);
  });
  const positions = Object.values(command.arguments).map(({ complete, help }) =>
    complete ? line(`__millrace_in ${path}`, offer(complete).trim(), help) : "",
  );
  return [...flags, ...positions.filter((text) => text !== "")];
}

function offer(complete: Completion | undefined): string {
  if (complete === undefined) return "";
  if (typeof complete === "object") return ` -a '${complete.join(" ")}'`;
  return complete === "directory" ? " -a '(__fish_complete_directories)'" : " -F";
}

const line = (condition: string, what: string, help: string) =>
  `complete -c millrace -n '${condition}' ${what} -d ${quoted(help)}`;

const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
