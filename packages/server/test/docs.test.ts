/** What the documentation lists is what the program has. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { answerLimits, credentialLimits, errorCodes, fieldLimits, processLimits } from "@millrace/contract";
import { settings } from "../src/config.ts";

const root = join(import.meta.dirname, "../../..");
const firstCells = async (page: string, heading: RegExp) => {
  const text = await readFile(join(root, "docs", page), "utf8");
  const rows = text.slice(text.search(heading)).split("\n\n")[0]?.split("\n").slice(2) ?? [];
  return rows.map((row) => row.split("|")[1]?.replaceAll("`", "").trim());
};

it("docs/configuration.md lists every setting, in order", async () => {
  assert.deepEqual(
    await firstCells("configuration.md", /\| Environment +\|/),
    Object.values(settings).map((s) => s.env),
  );
});

it("docs/errors.md lists every error code", async () => {
  assert.deepEqual(await firstCells("errors.md", /\| Code +\|/), Object.keys(errorCodes));
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

it("docs/limits.md has every number of the contract's limits", async () => {
  const text = await readFile(join(root, "docs/limits.md"), "utf8");
  const limits = { ...fieldLimits, ...processLimits, ...answerLimits, ...credentialLimits };
  for (const [name, limit] of Object.entries(limits))
    assert.match(text, new RegExp(`\\b${limit.toLocaleString("en-US")}\\b`), name);
});

it("README.md installs the client with all that its commands need, and signs in before the first of them", async () => {
  const text = await readFile(join(root, "README.md"), "utf8");
  const installs = [...text.matchAll(/pip install [^`\n]*datachain\S*/g)].map(([words]) => words);
  assert.ok(installs.length > 0);
  for (const words of installs) assert.match(words, /'datachain\[remote\]'/);
  // Several commands of the client take the token from its settings file only, never from the environment.
  const login = text.search(/^\$ millrace auth login/m);
  assert.ok(login !== -1 && login < text.search(/^\$ (datachain|millrace job)/m), "auth login comes first");
});
