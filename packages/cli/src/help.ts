/** Builds the help texts from the command table: the overview, the help of a group, and the help of one command. */
import { type Command, commands, commonFlags, type Flag, groups } from "./arguments.ts";

export function helpText(topic: string): string {
  if (topic === "") return overview();
  return Object.hasOwn(commands, topic)
    ? commandHelp(topic, commands[topic as keyof typeof commands])
    : groupHelp(topic as keyof typeof groups);
}

function overview(): string {
  const single = Object.entries(commands).filter(([path]) => !path.includes(" "));
  const rows = [...Object.entries(groups), ...single.map(([path, { summary }]) => [path, summary] as const)];
  return sections([
    "Millrace runs a team's data-processing jobs.",
    `Usage: millrace COMMAND [ARGUMENTS] [FLAGS]`,
    block("Commands", rows),
    block("Flags", [
      ["-h, --help", "Show help; `millrace COMMAND --help` for one command"],
      ["-V, --version", "Show the version"],
    ]),
    block("First steps", [
      ["millrace serve", "start a server on this machine"],
      ["millrace auth login", "sign in to the server"],
      ["millrace job run FILE", "run a script"],
    ]),
  ]);
}

function groupHelp(group: keyof typeof groups): string {
  const own = Object.entries(commands).filter(([path]) => path.startsWith(`${group} `));
  const rows = own.map(([path, { summary }]) => [path.slice(group.length + 1), summary] as const);
  return sections([
    `${groups[group]}.`,
    `Usage: millrace ${group} COMMAND [ARGUMENTS] [FLAGS]`,
    block("Commands", rows),
    `'millrace ${group} COMMAND --help' shows the flags of one command.`,
  ]);
}

function commandHelp(path: string, command: Command): string {
  const argumentNames = Object.entries(command.arguments).map(([name, { optional, many }]) =>
    optional ? `[${name}]` : `${name}${many ? "..." : ""}`,
  );
  const flags = { ...command.flags, ...commonFlags };
  return sections([
    `${command.summary}.`,
    ["Usage: millrace", path, ...argumentNames, "[FLAGS]"].join(" "),
    command.details ?? "",
    block(
      "Arguments",
      Object.entries(command.arguments).map(([name, { help }]) => [name, help]),
    ),
    block(
      "Flags",
      Object.entries(flags).map(([name, flag]) => [flagUsage(name, flag), flag.help]),
    ),
    block(
      "Examples",
      (command.examples ?? []).map((example) => [example, ""]),
    ),
  ]);
}

function flagUsage(name: string, flag: Flag): string {
  const value = flag.kind === "switch" ? "" : ` ${flag.value ?? "VALUE"}${flag.kind === "list" ? "..." : ""}`;
  return `${flag.short ? `-${flag.short}, ` : "    "}--${name}${value}`;
}

const sections = (parts: readonly string[]) => `${parts.filter((part) => part !== "").join("\n\n")}\n`;

function block(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map(([left]) => left.length));
  return [`${title}:`, ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd())].join("\n");
}
