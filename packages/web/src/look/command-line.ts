/** Commands of the command line, as texts for a shell. */
import { shellWord } from "./request-code.ts";

/** The value of a flag; true for a flag without a value, undefined and "" for one that is not given. */
type Value = string | number | boolean | undefined;

/** Returns a command with its flags and the team. */
export function commandLine(
  team: string,
  words: readonly string[],
  flags: Readonly<Record<string, Value>> = {},
): string {
  const given = Object.entries({ ...flags, team }).flatMap(([flag, value]) => flagOf(flag, value));
  return ["millrace", ...words.map(shellWord), ...given].join(" ");
}

/** A value that begins with a hyphen would be taken for a flag. */
function flagOf(flag: string, value: Value): string[] {
  if (value === undefined || value === "" || value === false) return [];
  if (value === true) return [`--${flag}`];
  const word = shellWord(String(value));
  return [String(value).startsWith("-") ? `--${flag}=${word}` : `--${flag} ${word}`];
}
