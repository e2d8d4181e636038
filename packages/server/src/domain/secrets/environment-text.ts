/**
 * Parses and checks environment variables. They come as dotenv text with NAME=VALUE lines, or as values by name. Errors
 * never repeat a value.
 */
import { parseEnv } from "node:util";
import { ApiError, invalid, processLimits, variableBytes } from "@millrace/contract";

/**
 * Parses the variables of a request. Throws on lines that are not dotenv, and on variables that no process can be
 * started with.
 */
export function readEnvironment(text: string, field = "environment"): Record<string, string> {
  checkLines(text, field);
  return checkVariables(parseEnvironment(text), field);
}

const tooMany = (field: string) => invalid(field, `at most ${processLimits.count} variables`);

/** Parses stored variables without checks: older versions of Millrace may have stored some that are refused now. */
export const parseEnvironment = (text: string) => ({ ...parseEnv(text) }) as Record<string, string>;

/**
 * Writes variables as dotenv text. Each value is put in the first kind of quotes with which it is read back unchanged.
 */
export const writeEnvironment = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => {
      const ways = ["'", "`", '"', ""].map((quote) => `${name}=${quote}${value}${quote}`);
      const line = ways.find((way) => parseEnv(way)[name] === value);
      if (line === undefined)
        throw invalid("environment", `a value of ${name} that fits into single quotes, double quotes or backticks`);
      return line;
    })
    .join("\n");

/** Returns the variables. Throws if a shell could not export one of them, or if no process could be started with it. */
export function checkVariables(values: Readonly<Record<string, string>>, field: string): Record<string, string> {
  if (Object.keys(values).length > processLimits.count) throw tooMany(field);
  for (const [name, value] of Object.entries(values)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      // A long name is not repeated, because it may be a secret that was typed without its name.
      const got = name.length > 20 ? undefined : name;
      throw invalid(field, "variable names that consist of letters, digits and _ and do not begin with a digit", got);
    }
    if (name.length > processLimits.variableName)
      throw invalid(
        field,
        `variable names of at most ${processLimits.variableName} characters, got a name of ${name.length} characters`,
      );
    if (name === "OPTIND") throw invalid(field, "a variable name that the shell does not use itself", name);
    if (value.includes("\0")) throw invalid(field, `a value of ${name} without NUL bytes`);
    checkSize(name, value, field);
  }
  return values;
}

function checkSize(name: string, value: string, field: string): void {
  const bytes = variableBytes(name, value);
  if (bytes <= processLimits.variable) return;
  const most = `at most ${processLimits.variable} bytes for ${name} including its name (the limit of the operating system)`;
  throw new ApiError("invalid", `${field}: expected ${most}, got ${bytes}. Attach long values as files.`);
}

/**
 * Throws on lines that are not NAME=VALUE, because Node's parser silently ignores these lines. Also throws if there are
 * far too many variables, because parsing them would block the event loop. The running time is linear in the length of
 * the text.
 */
function checkLines(text: string, field: string): void {
  const unclosed = new Set<string>();
  let assignments = 0;
  for (let at = 0, number = 1; at < text.length; number++) {
    const end = endOfLine(text, at);
    const line = text.slice(at, end);
    const begin = at;
    at = end + 1;
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    const equals = line.indexOf("=");
    // The error does not repeat the line, because it may be a secret that was typed without its name.
    if (equals === -1 || line.slice(0, equals).trim() === "") throw invalid(field, `NAME=VALUE in line ${number}`);
    if (++assignments > 2 * processLimits.count) throw tooMany(field);
    const close = endOfQuoted(text, begin + equals + 1, unclosed);
    if (close === undefined || close < end) continue;
    number += text.slice(end, close).split("\n").length - 1;
    at = endOfLine(text, close) + 1;
  }
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

/**
 * Returns the index of the closing quote of a value, which may span lines. Returns undefined if the value is not
 * quoted, or if its quote is never closed. `unclosed` remembers the kinds of quotes that are never closed, so that the
 * text is searched only once for each kind.
 */
function endOfQuoted(text: string, from: number, unclosed: Set<string>): number | undefined {
  let start = from;
  while (text[start] === " " || text[start] === "\t") start++;
  const quote = text[start] ?? "";
  if (!["'", '"', "`"].includes(quote) || unclosed.has(quote)) return undefined;
  const close = text.indexOf(quote, start + 1);
  if (close !== -1) return close;
  unclosed.add(quote);
  return undefined;
}
