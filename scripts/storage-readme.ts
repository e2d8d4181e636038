/**
 * Writes the tables of parameters into the README of the storage library, and those of the members of dicts into
 * docs/client-options.md, from the tables that the code uses. A test fails when they differ: run this, then.
 *
 *   node_modules/.bin/node --conditions=millrace-source scripts/storage-readme.ts
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { membersBelow as membersOf } from "../packages/storage/src/configuration/members.ts";
import {
  type Parameter,
  type ParameterTable,
  parameterKeys,
  sourcesOf,
  typesOf,
} from "../packages/storage/src/configuration/parameters.ts";

const storage = join(import.meta.dirname, "../packages/storage");
const readme = join(storage, "README.md");
const optionsPage = join(storage, "docs/client-options.md");

/** Those that people ask for first; the others follow by name. */
const firstSchemes = ["s3", "gs", "az", "hf"];

const begin = "<!-- parameters: written by scripts/storage-readme.ts -->";
const end = "<!-- end of parameters -->";

interface Page {
  readonly path: string;
  readonly present: string;
  readonly expected: string;
}

/** The README as it should be. */
export const expectedReadme = async () => pageWith(readme, await Promise.all(schemes().map(section)));

/** The page on options of the Python libraries, as it should be. */
export async function expectedOptions(): Promise<Page> {
  const sections = await Promise.all(schemes().map(async (scheme) => optionSections(scheme, await tableOf(scheme))));
  return pageWith(optionsPage, sections.flat());
}

function pageWith(path: string, sections: readonly string[]): Page {
  const present = readFileSync(path, "utf8");
  const [before, rest = ""] = present.split(begin);
  const [, after = ""] = rest.split(end);
  return { path, present, expected: `${before}${begin}\n\n${sections.join("\n\n")}\n\n${end}${after}` };
}

function schemes(): string[] {
  const found = readdirSync(join(storage, "src/schemes")).sort();
  const first = firstSchemes.filter((name) => found.includes(name));
  return [...first, ...found.filter((name) => !first.includes(name))];
}

async function tableOf(scheme: string): Promise<ParameterTable> {
  const module = (await import(join(storage, "src/schemes", scheme, "parameters.ts"))) as {
    parameters: ParameterTable;
  };
  return module.parameters;
}

async function section(scheme: string): Promise<string> {
  const parameters = await tableOf(scheme);
  const rows = parameterKeys(parameters).map((key) => row(key, parameters[key] as Parameter));
  if (rows.length === 0) return `### ${scheme}\n\nTakes no parameters.`;
  return `### ${scheme}\n\n${table([titles, ...rows])}`;
}

/** A table for each dict whose members are described. */
function optionSections(scheme: string, parameters: ParameterTable): string[] {
  const dicts = parameterKeys(parameters).filter((key) => membersOf(parameters, key).length > 0);
  return dicts.map((dict) => {
    const rows = membersOf(parameters, dict).map((name) => optionRow(parameters, `${dict}.${name}`, name));
    return `### ${code(dict)} of ${scheme}\n\n${table([optionTitles, ...rows])}`;
  });
}

const optionTitles = ["Option", "What becomes of it", "Default", "Taken from", "Meaning"];

const fates: Readonly<Record<Parameter["effect"], string>> = {
  native: "works",
  emulated: "works",
  "no-op": "accepted, and does nothing",
  rejected: "refused",
};

/** Also of options that are another place of a parameter. */
function optionRow(parameters: ParameterTable, key: string, name: string): string[] {
  const parameter = parameters[key];
  if (!parameter) {
    const [meant = ""] = Object.entries(parameters).find(([, { sources }]) => sources?.includes(key)) ?? [];
    return [code(name), "works", "", "", `As ${code(meant)}.`];
  }
  const [, , given, sources, , meaning] = row(key, parameter) as [string, string, string, string, string, string];
  const fate = fates[parameter.effect] + (parameter.reason ? `: ${parameter.reason}` : "");
  return [code(name), fate, given, sources, meaning].map((cell) => cell.replaceAll("|", "\\|"));
}

const titles = ["Parameter", "Type", "Default", "Taken from", "Effect", "Meaning"];

/** Aligned, as the formatter would. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
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
  for (const { path, expected } of [await expectedReadme(), await expectedOptions()]) writeFileSync(path, expected);
}
