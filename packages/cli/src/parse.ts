/** Parses the words of the command line into a command with validated input. */
import { parseArgs } from "node:util";
import {
  type Command,
  type CommandPath,
  commands,
  commonFlags,
  type Flag,
  type GroupName,
  groups,
  type Input,
} from "./arguments.ts";
import { usageError } from "./errors.ts";

/** A parsed command line: a command to run with its input, a help topic to show, or the request for the version. */
export type Invocation =
  | { readonly kind: "run"; readonly path: CommandPath; readonly input: Input<CommandPath> }
  | { readonly kind: "help"; readonly topic: string; readonly asked: boolean }
  | { readonly kind: "version" };

type Values = Record<string, string | number | boolean | string[] | undefined>;

export function parseCommandLine(words: readonly string[]): Invocation {
  const [first, second] = words;
  if (first === undefined || first === "--help" || first === "-h") return { kind: "help", topic: "", asked: true };
  if (first === "--version" || first === "-V") return { kind: "version" };
  if (first === "help") return { kind: "help", topic: topicOf(words.slice(1)), asked: true };
  if (first.startsWith("-")) throw unknownFlag(first, ["--help", "--version"], "millrace --help");
  if (!isGroup(first)) {
    // A one-word command may also be the first word of another: `backup DIR` and `backup verify DIR`.
    const path = `${first} ${second}`;
    return isCommand(path) ? parseCommand(path, words.slice(2)) : parseCommand(commandPath(first), words.slice(1));
  }
  if (second === undefined) return { kind: "help", topic: first, asked: false };
  if (second === "--help" || second === "-h") return { kind: "help", topic: first, asked: true };
  return parseCommand(commandPath(`${first} ${second}`), words.slice(2));
}

const isGroup = (word: string): word is GroupName => Object.hasOwn(groups, word);
const isCommand = (path: string): path is CommandPath => Object.hasOwn(commands, path);

/** Returns the topic of the command `help`: a group, a command, or an empty text for the overview. */
function topicOf(words: readonly string[]): string {
  const topic = words.filter((word) => !word.startsWith("-")).join(" ");
  return topic === "" || isGroup(topic) ? topic : commandPath(topic);
}

function commandPath(path: string): CommandPath {
  if (isCommand(path)) return path;
  const group = path.split(" ")[0] ?? "";
  const known = isGroup(group)
    ? Object.keys(commands).filter((name) => name.startsWith(`${group} `))
    : [...Object.keys(commands).filter((name) => !name.includes(" ")), ...Object.keys(groups), "help"];
  const help = isGroup(group) ? `millrace ${group} --help` : "millrace --help";
  const guess = closest(path, known);
  throw usageError(`Unknown command 'millrace ${path}'`, {
    why: guess && `Did you mean 'millrace ${guess}'?`,
    next: help,
  });
}

function parseCommand(path: CommandPath, words: readonly string[]): Invocation {
  const command: Command = commands[path];
  const flags: Record<string, Flag> = { ...command.flags, ...commonFlags };
  const { tokens } = parseArgs({
    args: spreadLists(words, flags),
    options: Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, parseOption(flag)])),
    strict: false,
    tokens: true,
  });
  const given: string[] = [];
  const values = emptyValues(flags);
  for (const token of tokens) {
    if (token.kind === "positional") given.push(token.value);
    if (token.kind === "option") takeFlag(path, flags, values, token);
  }
  if (values["help"]) return { kind: "help", topic: path, asked: true };
  const input = { flags: values, arguments: takeArguments(path, command, given, values) };
  return { kind: "run", path, input: input as unknown as Input<CommandPath> };
}

const isMany = ({ kind }: Flag) => kind === "list" || kind === "texts";

const parseOption = (flag: Flag) => ({
  type: flag.kind === "switch" ? ("boolean" as const) : ("string" as const),
  multiple: isMany(flag),
  ...(flag.short ? { short: flag.short } : {}),
});

const emptyValues = (flags: Record<string, Flag>): Values =>
  Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [name, flag.kind === "switch" ? false : isMany(flag) ? [] : undefined]),
  );

/**
 * Turns `--req a b` into `--req a --req b`. A flag of kind `list` takes all words up to the next flag, as in the
 * `datachain` client.
 */
function spreadLists(words: readonly string[], flags: Record<string, Flag>): string[] {
  const spread: string[] = [];
  let list: string | undefined;
  for (const [index, word] of words.entries()) {
    if (word === "--") return [...spread, ...words.slice(index)];
    if (word.startsWith("-") && word !== "-") {
      spread.push(word);
      list = word.startsWith("--") && flags[word.slice(2)]?.kind === "list" ? word : undefined;
    } else {
      if (list && spread.at(-1) !== list) spread.push(list);
      spread.push(word);
    }
  }
  return spread;
}

interface FlagToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function takeFlag(path: string, flags: Record<string, Flag>, values: Values, token: FlagToken): void {
  const { name, rawName, value } = token;
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  const help = `millrace ${path} --help`;
  if (!flag)
    throw unknownFlag(
      rawName,
      Object.keys(flags).map((known) => `--${known}`),
      help,
    );
  if (flag.kind === "switch") {
    if (value !== undefined) throw usageError(`${rawName} takes no value`, { next: help });
    values[name] = true;
    return;
  }
  // A value that begins with a dash must be joined with "="; as a separate word, it is the next flag.
  if (value === undefined || (!token.inlineValue && /^-./.test(value))) {
    throw usageError(`${rawName} needs a value`, { why: flag.help, next: help });
  }
  const list = values[name];
  if (Array.isArray(list)) list.push(value);
  else values[name] = flag.kind === "integer" ? integer(rawName, flag, value, help) : value;
}

function integer(rawName: string, flag: Flag, text: string, next: string): number {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = flag;
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = flag.max !== undefined ? ` from ${min} to ${max}` : flag.min !== undefined ? ` of at least ${min}` : "";
  throw usageError(`${rawName}: invalid value '${text}'`, { why: `Expected a whole number${range}`, next });
}

type Words = string | undefined | readonly string[];

function takeArguments(path: string, command: Command, given: readonly string[], flags: Values): Record<string, Words> {
  const names = Object.keys(command.arguments);
  const isNeeded = ({ optional, unless }: Partial<Command["arguments"][string]>) =>
    !optional || (unless !== undefined && flags[unless] === undefined);
  const missing = names.find((name, index) => given[index] === undefined && isNeeded(command.arguments[name] ?? {}));
  const next = `millrace ${path} --help`;
  if (missing) {
    const greedy = Object.values(command.flags).some((flag) => flag.kind === "list");
    const why = greedy ? `Put ${missing} first: a flag such as --env takes every word that follows it` : undefined;
    throw usageError(`${missing} is missing`, { why, next });
  }
  const takesRest = (name: string | undefined) => command.arguments[name ?? ""]?.many === true;
  if (given.length > names.length && !takesRest(names.at(-1)))
    throw usageError(`Unexpected argument '${given[names.length]}'`, { next });
  return Object.fromEntries(names.map((name, index) => [name, takesRest(name) ? given.slice(index) : given[index]]));
}

function unknownFlag(rawName: string, known: readonly string[], next: string) {
  const guess = closest(rawName, known);
  return usageError(`Unknown flag ${rawName}`, { why: guess && `Did you mean ${guess}?`, next });
}

/**
 * Returns the candidate that the user probably meant by `word`: one that begins with `word`, or that differs from
 * `word` by a few typos. Returns undefined if there is no such candidate.
 */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((name) => ({ name, distance: name.startsWith(word) && word.length > 2 ? 0 : editDistance(word, name) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best && best.distance <= Math.max(1, Math.floor(word.length / 4)) ? best.name : undefined;
}

/**
 * Returns how many insertions, deletions, replacements and swaps of neighboring letters turn one word into the other.
 */
function editDistance(from: string, to: string): number {
  const rows = [[...Array(to.length + 1).keys()]];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= to.length; j++) {
      const change = from[i - 1] === to[j - 1] ? 0 : 1;
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row.push(
        Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + change, swapped ? at(i - 2, j - 2) + 1 : 99),
      );
    }
  }
  return at(from.length, to.length);
}
