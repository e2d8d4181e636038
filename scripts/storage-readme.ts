/**
 * Writes the tables of parameters into the README of the storage library, and those of the members of dicts into
 * docs/client-options.md, from the tables that the code uses. A test fails if they differ; then run:
 *
 * node_modules/.bin/node --conditions=millrace-source scripts/storage-readme.ts
 */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { membersBelow as membersOf } from "../packages/storage/src/configuration/members.ts";
import {
  type Parameter,
  type ParameterTable,
  parameterKeys,
  sourcesOf,
  typesOf,
} from "../packages/storage/src/configuration/parameters.ts";
import { code, type Page, pageWith, table } from "./generated-page.ts";

const storage = join(import.meta.dirname, "../packages/storage");
const readme = join(storage, "README.md");
const optionsPage = join(storage, "docs/client-options.md");

/** The most used schemes come first; the others follow by name. */
const firstSchemes = ["s3", "gs", "az", "hf"];

const marks = {
  begin: "<!-- parameters: written by scripts/storage-readme.ts -->",
  end: "<!-- end of parameters -->",
};

/** Returns the README as it should be. */
export const expectedReadme = async () => pageWith(readme, marks, await Promise.all(schemes().map(section)));

/** Returns the page on options of the Python libraries as it should be. */
export async function expectedOptions(): Promise<Page> {
  const sections = await Promise.all(schemes().map(async (scheme) => optionSections(scheme, await tableOf(scheme))));
  return pageWith(optionsPage, marks, sections.flat());
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

/** Returns a table for each dict whose members are described. */
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

/** A row of the table of options; an option may be another source of a parameter. */
function optionRow(parameters: ParameterTable, key: string, name: string): string[] {
  const parameter = parameters[key];
  if (!parameter) {
    const [meant = ""] = Object.entries(parameters).find(([, { sources }]) => sources?.includes(key)) ?? [];
    return [code(name), "works", "", "", `As ${code(meant)}.`];
  }
  const [, , given, sources, , meaning] = row(key, parameter) as [string, string, string, string, string, string];
  const fate = fates[parameter.effect] + (parameter.reason ? `: ${parameter.reason}` : "");
  return [code(name), fate, given, sources, meaning];
}

const titles = ["Parameter", "Type", "Default", "Taken from", "Effect", "Meaning"];

function row(key: string, parameter: Parameter): string[] {
  const sources = sourcesOf(key, parameter).map((source) => code(source));
  const meaning = [parameter.help, parameter.choices ? `One of ${parameter.choices.join(", ")}.` : ""];
  const reason = parameter.reason ? `: ${parameter.reason}` : "";
  return [
    code(key),
    typesOf(parameter).join(" or "),
    parameter.default === null ? "" : code(JSON.stringify(parameter.default)),
    sources.length === 1 && sources[0] === code(key) ? "" : sources.join(", "),
    parameter.effect + reason,
    meaning.filter(Boolean).join(" ") + (parameter.secret ? " Secret." : ""),
  ];
}

if (import.meta.main) {
  for (const { path, expected } of [await expectedReadme(), await expectedOptions()]) writeFileSync(path, expected);
}
