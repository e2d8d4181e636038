/** Variables as people give them: NAME=VALUE lines by dotenv rules, or by name. No refusal repeats a value. */
import { parseEnv } from "node:util";
import { ApiError, invalid, processLimits, variableBytes } from "@millrace/contract";

/** What somebody asks for: lines that cannot be read, and variables that no process could be given, are refused. */
export function readEnvironment(text: string, field = "environment"): Record<string, string> {
  const lines = withoutQuoted(text);
  // Counted before anything else is done with it: reading a thousand times as many would hold up everybody.
  if ((lines.match(assignment)?.length ?? 0) > 2 * processLimits.count) throw tooMany(field);
  checkLines(lines, field);
  return checkVariables(parseEnvironment(text), field);
}

/** Whatever the parser takes for one, with a good name or not. */
const assignment = /^[^#=\n]+=/gm;
const quotedValue = /^([^#=\n]+=)[ \t]*("[^"]*"|'[^']*'|`[^`]*`)/gm;

/** Quoted values may have several lines; the number of lines stays. */
const withoutQuoted = (text: string) =>
  text.replace(quotedValue, (_, name: string, value: string) => `${name}${"\n".repeat(value.split("\n").length - 1)}`);

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

/** The parser drops a line that it cannot read without a word; a forgotten `=` should not go unnoticed. */
function checkLines(text: string, field: string): void {
  for (const [index, line] of text.split("\n").entries()) {
    const content = line.trim();
    if (content === "" || content.startsWith("#") || content.indexOf("=") > 0) continue;
    // The line itself is not repeated: it may be a secret that lost its name.
    throw invalid(field, `NAME=VALUE in line ${index + 1}`);
  }
}
