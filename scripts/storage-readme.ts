/**
 * Writes the tables of parameters into the README of the storage library, from the tables that the code uses. A test
 * fails when they differ: run this, then.
 *
 *   node_modules/.bin/node --conditions=millrace-source scripts/storage-readme.ts
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Parameter,
  type ParameterTable,
  sourcesOf,
  typesOf,
} from "../packages/storage/src/configuration/parameters.ts";

const storage = join(import.meta.dirname, "../packages/storage");
const readme = join(storage, "README.md");

/** Those that people ask for first; the others follow by name. */
const firstSchemes = ["s3", "gs", "az", "hf"];

const begin = "<!-- parameters: written by scripts/storage-readme.ts -->";
const end = "<!-- end of parameters -->";

/** The README as it should be. */
export async function expectedReadme(): Promise<{ path: string; present: string; expected: string }> {
  const present = readFileSync(readme, "utf8");
  const [before, rest = ""] = present.split(begin);
  const [, after = ""] = rest.split(end);
  const sections = await Promise.all(schemes().map(section));
  return { path: readme, present, expected: `${before}${begin}\n\n${sections.join("\n\n")}\n\n${end}${after}` };
}

function schemes(): string[] {
  const found = readdirSync(join(storage, "src/schemes")).sort();
  const first = firstSchemes.filter((name) => found.includes(name));
  return [...first, ...found.filter((name) => !first.includes(name))];
}

async function section(scheme: string): Promise<string> {
  const module = (await import(join(storage, "src/schemes", scheme, "parameters.ts"))) as {
    parameters: ParameterTable;
  };
  const rows = Object.entries(module.parameters).map(([key, parameter]) => row(key, parameter));
  if (rows.length === 0) return `### ${scheme}\n\nTakes no parameters.`;
  return `### ${scheme}\n\n${table([titles, ...rows])}`;
}

const titles = ["Parameter", "Type", "Default", "Taken from", "Effect", "Meaning"];

/** Aligned, as the formatter would. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = titles.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [head, ...body] = rows.map(line);
  return [head, line(widths.map((width) => "-".repeat(width))), ...body].join("\n");
}

function row(key: string, parameter: Parameter): string[] {
  const sources = sourcesOf(key, parameter).map((source) => code(source));
  const meaning = [parameter.help, parameter.choices ? `One of ${parameter.choices.join(", ")}.` : ""];
  const reason = parameter.reason ? `: ${parameter.reason}` : "";
  const cells = [
    code(key),
    typesOf(parameter).join(" or "),
    parameter.default === null ? "" : code(JSON.stringify(parameter.default)),
    sources.length === 1 && sources[0] === code(key) ? "" : sources.join(", "),
    parameter.effect + reason,
    meaning.filter(Boolean).join(" ") + (parameter.secret ? " Secret." : ""),
  ];
  return cells.map((cell) => cell.replaceAll("|", "\\|"));
}

const code = (text: string) => `\`${text}\``;

if (import.meta.main) {
  const { path, expected } = await expectedReadme();
  writeFileSync(path, expected);
}
