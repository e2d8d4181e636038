/**
 * Limits of jobs that the schemas of the API cannot check: the bytes of `params` as JSON, the lines of requirements,
 * and the size of all variables together. Values from the metadata of the script are checked too.
 */
import { ApiError, environmentBytes, fieldLimits, processLimits } from "@millrace/contract";

/**
 * Maximum size of one `environment`, in bytes. It is half of what a process can get, so that `params` and one set of
 * credentials also fit. Several sets, or the variables of a pipeline, may still exceed the limit of a process.
 */
export const environmentRoom = processLimits.variables / 2;

/** Returns the error for a field that is too long: its limit, its length, and what to do instead. */
export const tooLong = (field: string, most: string, got: number, instead: string) =>
  new ApiError("invalid", `${field}: expected at most ${most}, got ${got}. ${instead}`);

export function checkParams<T extends object>(params: T): T {
  const bytes = Buffer.byteLength(JSON.stringify(params));
  if (bytes <= processLimits.params) return params;
  const most = `${processLimits.params} bytes as JSON (they are passed in an environment variable)`;
  throw tooLong("params", most, bytes, "Attach long values as files.");
}

/**
 * Control characters and Unicode line separators, which requirements must not contain. Tabs and ordinary line breaks
 * are allowed. Python ends a line at some of the forbidden characters, but this server does not. So a requirement that
 * installs a local path could hide in what looks like a comment to the server.
 */
const unseen = /(?![\t\r\n])[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Returns the requirements after checking them. They come from the request or from the metadata of the script. */
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
      `requirements: expected text without control characters, got ${code} in line ${line}. Remove it; only tabs and line breaks are allowed.`,
    );
  }
  return text;
}

/** Returns the variables. Throws if they have more than `most` bytes together. */
export function checkTogether(
  values: Record<string, string>,
  field: string,
  most: number = processLimits.variables,
): Record<string, string> {
  const bytes = environmentBytes(values);
  if (bytes <= most) return values;
  throw tooLong(field, `${most} bytes for all variables together`, bytes, "Attach long values as files.");
}
