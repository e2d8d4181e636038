/**
 * Limits that the schemas of the API cannot check: bytes of JSON, lines, and variables in total. Values from script
 * metadata count, too.
 */
import { ApiError, environmentBytes, fieldLimits, processLimits } from "@millrace/contract";

/**
 * Maximum size of one `environment`, in bytes. It leaves room in the process's environment for `params` and for one set
 * of credentials of the same size. Several sets, or the variables of a pipeline, may still exceed the limit of a process.
 */
export const environmentRoom = processLimits.variables / 2;

/** Returns the error for a field that is too long: its limit, its length, and what to do instead. */
export const tooLong = (field: string, most: string, got: number, instead: string) =>
  new ApiError("invalid", `${field}: expected at most ${most}, got ${got}. ${instead}`);

export function checkParams<T extends object>(params: T): T {
  const bytes = Buffer.byteLength(JSON.stringify(params));
  if (bytes <= processLimits.params) return params;
  const most = `${processLimits.params} bytes as JSON, since they are passed in an environment variable`;
  throw tooLong("params", most, bytes, "Attach long values as files.");
}

/**
 * Control characters except tab and line breaks. Python treats some of them as line breaks, so a path could be hidden in
 * what looks like a comment.
 */
const unseen = /(?![\t\r\n])[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Checks requirements, which may come from the request or from the metadata of the script. */
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

/** Throws if the variables are larger than `most` bytes in total; otherwise returns them. */
export function checkTogether(
  values: Record<string, string>,
  field: string,
  most: number = processLimits.variables,
): Record<string, string> {
  const bytes = environmentBytes(values);
  if (bytes <= most) return values;
  throw tooLong(field, `${most} bytes for all variables together`, bytes, "Attach long values as files.");
}
