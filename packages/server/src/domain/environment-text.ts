/** `environment` of a job: NAME=VALUE lines by dotenv rules. */
import { parseEnv } from "node:util";
import { invalid } from "@millrace/contract";

export function readEnvironment(text: string): Record<string, string> {
  checkLines(text);
  const values = { ...parseEnv(text) } as Record<string, string>;
  for (const name of Object.keys(values)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw invalid("environment", "names of letters, digits and _, not beginning with a digit", name);
    }
    if (name === "OPTIND") throw invalid("environment", "another name: this one is the shell's own", name);
    if (values[name]?.includes("\0")) throw invalid("environment", `a value of ${name} without NUL bytes`);
  }
  return values;
}

/** The parser drops a line that it cannot read without a word; a forgotten `=` should not go unnoticed. */
function checkLines(text: string): void {
  const quoted = /=[ \t]*("[^"]*"|'[^']*'|`[^`]*`)/g;
  const lines = text.replace(quoted, (value) => `=${"\n".repeat(value.split("\n").length - 1)}`).split("\n");
  for (const [index, line] of lines.entries()) {
    const content = line.trim();
    if (content === "" || content.startsWith("#") || content.indexOf("=") > 0) continue;
    // The line itself is not repeated: it may be a secret that lost its name.
    throw invalid("environment", `NAME=VALUE in line ${index + 1}`);
  }
}
