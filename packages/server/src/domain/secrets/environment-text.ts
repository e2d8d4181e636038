/** Variables as people give them: NAME=VALUE lines by dotenv rules, or by name. No refusal repeats a value. */
import { parseEnv } from "node:util";
import { ApiError, invalid, processLimits, variableBytes } from "@millrace/contract";

/** What somebody asks for: lines that cannot be read, and variables that no process could be given, are refused. */
export function readEnvironment(text: string, field = "environment"): Record<string, string> {
  checkLines(text, field);
  return checkVariables(parseEnvironment(text), field);
}

const tooMany = (field: string) => invalid(field, `at most ${processLimits.count} variables`);

/** What was taken before: never refused, whatever was allowed then. */
export const parseEnvironment = (text: string) => ({ ...parseEnv(text) }) as Record<string, string>;

/** The lines that are read as these values. Whatever was read from lines can be written, in one kind of quotes or another. */
export const writeEnvironment = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => {
      const ways = ["'", "`", '"', ""].map((quote) => `${name}=${quote}${value}${quote}`);
      const line = ways.find((way) => parseEnv(way)[name] === value);
      if (line === undefined) throw invalid("environment", `a value of ${name} that one kind of quotes can hold`);
      return line;
    })
    .join("\n");

/** Names and values that a shell can export, and a process be given. */
export function checkVariables(values: Readonly<Record<string, string>>, field: string): Record<string, string> {
  if (Object.keys(values).length > processLimits.count) throw tooMany(field);
  for (const [name, value] of Object.entries(values)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      // A long one may be a secret that lost its name.
      const got = name.length > 20 ? undefined : name;
      throw invalid(field, "names of letters, digits and _, not beginning with a digit", got);
    }
    if (name.length > processLimits.variableName)
      throw invalid(field, `names of at most ${processLimits.variableName} characters, got one of ${name.length}`);
    if (name === "OPTIND") throw invalid(field, "another name: this one is the shell's own", name);
    if (value.includes("\0")) throw invalid(field, `a value of ${name} without NUL bytes`);
    checkSize(name, value, field);
  }
  return values;
}

function checkSize(name: string, value: string, field: string): void {
  const bytes = variableBytes(name, value);
  if (bytes <= processLimits.variable) return;
  const most = `at most ${processLimits.variable} bytes for ${name} with its name, as much as a process can be given`;
  throw new ApiError("invalid", `${field}: expected ${most}, got ${bytes}. Attach what is long as a file.`);
}

/**
 * The parser drops a line that it cannot read without a word; a forgotten `=` should not go unnoticed. Variables are counted
 * before they are parsed: a thousand times as many would hold up everybody. No character is looked at more than a few times.
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
    // The line itself is not repeated: it may be a secret that lost its name.
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

/** A quoted value may have several lines. Undefined: it is not quoted, or its quotes never close, which is asked once. */
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
