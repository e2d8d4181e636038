/** The documentation lists exactly what the program has. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import {
  answerLimits,
  credentialLimits,
  type EngineKindName,
  engineKindNames,
  engineKinds,
  errorCodes,
  errorHints,
  fieldLimits,
  isolationLevels,
  processLimits,
  runnerOptions,
} from "@millrace/contract";
import { expectedConfigurationPage } from "../../../../scripts/configuration-page.ts";
import { groups } from "../../src/configuration/config.ts";
import type { Group } from "../../src/configuration/setting.ts";

const root = join(import.meta.dirname, "../../../..");
const firstCells = async (page: string, heading: RegExp) => {
  const text = await readFile(join(root, "docs", page), "utf8");
  const rows = text.slice(text.search(heading)).split("\n\n")[0]?.split("\n").slice(2) ?? [];
  return rows.map((row) => row.split("|")[1]?.replaceAll("`", "").trim());
};

it("docs/configuration.md has the settings as the code has them", async () => {
  const { present, expected } = expectedConfigurationPage();
  assert.ok(present === expected, "the settings have changed: run scripts/configuration-page.ts");
});

it("a setting has one variable and one group, and the page and heading that it refers to exist", async () => {
  const settings = Object.values<Group>(groups).flatMap((group) => Object.values(group.settings));
  assert.equal(new Set(settings.map(({ env }) => env)).size, settings.length);
  for (const { env, see } of settings.filter((setting) => setting.see)) {
    const [page = "", anchor] = see?.split("#") ?? [];
    const headings = (await readFile(join(root, "docs", page), "utf8")).matchAll(/^#+ (.*)$/gm);
    const anchors = [...headings].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    );
    assert.ok(anchors.includes(anchor ?? ""), `${env}: ${see}`);
  }
});

it("docs/errors.md lists every error code", async () => {
  assert.deepEqual(await firstCells("errors.md", /\| Code +\|/), Object.keys(errorCodes));
});

it("docs/errors.md lists every hint", async () => {
  assert.deepEqual(await firstCells("errors.md", /\| Hint +\|/), Object.keys(errorHints));
});

it("docs/dependencies.md has a line for every dependency", async () => {
  const text = await readFile(join(root, "docs/dependencies.md"), "utf8");
  for (const file of [
    "package.json",
    "packages/contract/package.json",
    "packages/server/package.json",
    "packages/cli/package.json",
  ]) {
    const manifest = JSON.parse(await readFile(join(root, file), "utf8")) as Record<
      string,
      Record<string, string> | undefined
    >;
    const names = ["dependencies", "devDependencies", "optionalDependencies"].flatMap((kind) =>
      Object.keys(manifest[kind] ?? {}),
    );
    for (const name of names.filter((n) => !n.startsWith("@millrace/") && !n.startsWith("@types/")))
      assert.ok(text.includes(name), name);
  }
});

interface OptionSchema {
  readonly default: unknown;
  readonly description: string;
}

/** Options that clusters of all kinds have are on a page of their own. */
const pagesOfOptions = {
  clusters: runnerOptions,
  ...Object.fromEntries(engineKindNames.map((kind) => [kind, ownOptions(kind)])),
};

function ownOptions(kind: EngineKindName) {
  const own = Object.entries(engineKinds[kind].options.properties).filter(
    ([name]) => !Object.hasOwn(runnerOptions, name),
  );
  return Object.fromEntries(own);
}

for (const [page, properties] of Object.entries(pagesOfOptions))
  it(`docs/${page}.md lists every option of such a cluster, with its default and description`, async () => {
    const text = await readFile(join(root, `docs/${page}.md`), "utf8");
    const table = text.slice(text.search(/\| Option +\|/)).split("\n\n")[0] ?? "";
    const rows = table.split("\n").map((row) => row.split("|").map((cell) => cell.trim()));
    const listed = rows.slice(2).map((cells) => cells.slice(1, 4));
    const options = Object.entries(properties as unknown as Record<string, OptionSchema>);
    const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
    assert.ok(options.length > 0);
    assert.deepEqual(
      listed,
      options.map(([name, option]) => [
        `\`${name}\``,
        option.default === "" ? "" : `\`${shown(option.default)}\``,
        option.description,
      ]),
    );
  });

it("docs/limits.md has every number of the contract's limits", async () => {
  const text = await readFile(join(root, "docs/limits.md"), "utf8");
  const limits = { ...fieldLimits, ...processLimits, ...answerLimits, ...credentialLimits };
  for (const [name, limit] of Object.entries(limits))
    assert.match(text, new RegExp(`\\b${limit.toLocaleString("en-US")}\\b`), name);
});

it("docs/configuration.md lists what a server keeps in its data folder, and nothing else", async () => {
  const cells = await firstCells("configuration.md", /\| Entry +\|/);
  const listed = cells.flatMap((cell) => (cell ?? "").split(", ")).filter((name) => !name.startsWith("-"));
  const layout = await readFile(join(root, "packages/server/src/machine/data-folder.ts"), "utf8");
  const used = [...layout.matchAll(/join\(this\.path, "([^"]+)"/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(used)].sort(), listed.map((name) => name.replace(/\/$/, "")).sort());
});

it("no table of the documentation has a second header", async () => {
  const pages = (await readdir(join(root, "docs"))).map((name) => join("docs", name));
  for (const page of ["README.md", "packages/storage/README.md", ...pages]) {
    const tables = (await readFile(join(root, page), "utf8")).split(/\n(?!\|)/);
    for (const table of tables)
      assert.ok((table.match(/^\|[ :|-]+\|$/gm) ?? []).length <= 1, `${page}: ${table.trim().split("\n")[0]}`);
  }
});

it("docs/security.md has every level of isolation, and no page says that one comes later", async () => {
  assert.deepEqual((await firstCells("security.md", /\| Level +\|/)).sort(), [...isolationLevels].sort());
  const pages = (await readdir(join(root, "docs"))).map((name) => join("docs", name));
  for (const page of ["README.md", ...pages]) {
    const text = await readFile(join(root, page), "utf8");
    assert.doesNotMatch(text, /levels? \(later\)|levels? [^.]{0,60}later version/, page);
  }
});

it("README.md installs the client with everything that its commands need, and signs in before the first of them", async () => {
  const text = await readFile(join(root, "README.md"), "utf8");
  const installs = [...text.matchAll(/pip install [^`\n]*datachain\S*/g)].map(([words]) => words);
  assert.ok(installs.length > 0);
  for (const words of installs) assert.match(words, /'datachain\[remote\]'/);
  // Several commands of the client read the token only from its settings file, never from the environment.
  const login = text.search(/^\$ millrace auth login/m);
  assert.ok(login !== -1 && login < text.search(/^\$ (datachain|millrace job)/m), "auth login comes first");
});
