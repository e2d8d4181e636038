/** Parses durations on the command line. */
import { readDuration } from "@millrace/contract";
import { usageError } from "../errors.ts";

/** Parses a duration. Returns seconds, or undefined if the flag was not given. */
export function readSeconds(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = readDuration(text);
  if (seconds !== undefined) return seconds;
  throw usageError(`--${flag}: '${text}' is not a duration`, {
    why: "Expected seconds, or a number with s, m, h or d, such as 10m",
  });
}
