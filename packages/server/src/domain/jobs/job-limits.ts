/** What a job may bring that no schema can count: bytes as JSON, lines, variables together. Also what script metadata brings. */
import { ApiError, environmentBytes, fieldLimits, processLimits } from "@millrace/contract";

/**
 * Bytes of the variables of one `environment`. With as many of one set of credentials, and with params, they stay within
 * what a process can be given: only several sets or a pipeline's variables on top can be too much.
 */
export const environmentRoom = processLimits.variables / 2;

/** Says which field is too long, how long, and what to do instead. */
export const tooLong = (field: string, most: string, got: number, instead: string) =>
  new ApiError("invalid", `${field}: expected at most ${most}, got ${got}. ${instead}`);

export function checkParams<T extends object>(params: T): T {
  const bytes = Buffer.byteLength(JSON.stringify(params));
  if (bytes <= processLimits.params) return params;
  const most = `${processLimits.params} bytes as JSON, since the job gets them in a variable`;
  throw tooLong("params", most, bytes, "Attach what is long as a file.");
}

/** Python ends a line at some of these, where others see none: a path could hide behind a comment. */
const unseen = /(?![\t\r\n])[\p{Cc}\p{Zl}\p{Zp}]/u;

/** The script may bring its own, which no schema has seen. */
export function checkRequirements(text: string | null): string | null {
  const instead = "Attach a requirements file and name it with `-r FILE`.";
  if (text === null) return text;
  if (text.length > fieldLimits.requirements)
    throw tooLong("requirements", `${fieldLimits.requirements} characters`, text.length, instead);
  const longest = text.split("\n").reduce((most, line) => Math.max(most, Buffer.byteLength(line)), 0);
  if (longest > processLimits.requirementsLine)
    throw tooLong("requirements", `${processLimits.requirementsLine} bytes in a line`, longest, instead);
  const found = unseen.exec(text);
  if (found) {
    const code = `U+${found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    const line = text.slice(0, found.index).split("\n").length;
    throw new ApiError(
      "invalid",
      `requirements: expected text without control characters, got ${code} in line ${line}. Remove it; only tabs and ends of lines are taken.`,
    );
  }
  return text;
}

export function checkTogether(
  values: Record<string, string>,
  field: string,
  most: number = processLimits.variables,
): Record<string, string> {
  const bytes = environmentBytes(values);
  if (bytes <= most) return values;
  throw tooLong(field, `${most} bytes for all variables together`, bytes, "Attach what is long as a file.");
}
