/** Variables as people give them: NAME=VALUE lines by dotenv rules, or by name. No refusal repeats a value. */
import { parseEnv } from "node:util";
import { invalid } from "@millrace/contract";

export function readEnvironment(text: string, field = "environment"): Record<string, string> {
  checkLines(text, field);
  return checkVariables({ ...parseEnv(text) } as Record<string, string>, field);
}

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

/** Names and values that a shell can export. */
export function checkVariables(values: Readonly<Record<string, string>>, field: string): Record<string, string> {
  for (const [name, value] of Object.entries(values)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      // A long one may be a secret that lost its name.
      const got = name.length > 20 ? undefined : name;
      throw invalid(field, "names of letters, digits and _, not beginning with a digit", got);
    }
    if (name === "OPTIND") throw invalid(field, "another name: this one is the shell's own", name);
    if (value.includes("\0")) throw invalid(field, `a value of ${name} without NUL bytes`);
  }
  return values;
}

/** The parser drops a line that it cannot read without a word; a forgotten `=` should not go unnoticed. */
function checkLines(text: string, field: string): void {
  const quoted = /=[ \t]*("[^"]*"|'[^']*'|`[^`]*`)/g;
  const lines = text.replace(quoted, (value) => `=${"\n".repeat(value.split("\n").length - 1)}`).split("\n");
  for (const [index, line] of lines.entries()) {
    const content = line.trim();
    if (content === "" || content.startsWith("#") || content.indexOf("=") > 0) continue;
    // The line itself is not repeated: it may be a secret that lost its name.
    throw invalid(field, `NAME=VALUE in line ${index + 1}`);
  }
}
