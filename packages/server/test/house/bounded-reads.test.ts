/**
 * Every read of the store has a bound, because a statement on SQLite holds up the whole server, and one on PostgreSQL
 * takes one of a few connections. A read without a limit in its statement has an entry here with the reason why its
 * number of rows is bounded nevertheless.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

const queries = join(import.meta.dirname, "../../src/store/queries");

/** Declarations whose reads have no limit in the statement, by the reason why the number of rows is bounded. */
const bounded: Readonly<Record<string, readonly string[]>> = {};

/** A declaration at the top level of a file: a function, or a constant with a query. */
interface Declaration {
  readonly name: string;
  readonly text: string;
}

const beginning = /^(?:export )?(?:async )?(?:const|function\*?) (\w+)/;

/** Returns the declarations of a file as `folder/file.ts name`, without comments. */
function declarationsOf(file: string, source: string): Declaration[] {
  const found: { name: string; text: string }[] = [];
  for (const line of source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "").split("\n")) {
    const name = beginning.exec(line)?.[1];
    if (name) found.push({ name: `${file} ${name}`, text: "" });
    const last = found.at(-1);
    if (last) last.text += `${line}\n`;
  }
  return found;
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

/** Counts the reads that begin here. A subquery belongs to the statement around it. */
const readsIn = (text: string) =>
  count(text, /\bdb\s*\.selectFrom\(/g) + count(text, /\bsql(?:<[^`]*>)?`\s*(?:with\b[^`]*?\)\s*)?select\b/g);

/** Counts what bounds a read: a limit, one row, or the primary key. */
function boundsIn(text: string): number {
  const table = /\.selectFrom\("(\w+)"/.exec(text)?.[1] ?? "";
  const byKey = new RegExp(`\\.where\\("(?:${table}\\.)?id", "=",`, "g");
  return (
    count(text, /\.limit\(|\blimit (?:\$\{|\d)|\.executeTakeFirst/g) +
    (count(text, /executeTakeFirst/g) > 0 ? 0 : count(text, byKey))
  );
}

async function unlimited(): Promise<string[]> {
  const files = (await readdir(queries, { recursive: true })).filter((file) => file.endsWith(".ts")).sort();
  const sources = await Promise.all(
    files.map(async (file) => declarationsOf(file, await readFile(join(queries, file), "utf8"))),
  );
  return sources.flat().flatMap(({ name, text }) => (readsIn(text) > boundsIn(text) ? [name] : []));
}

describe("a read of the store", async () => {
  const found = await unlimited();
  const listed = Object.values(bounded).flat();

  it("has a limit in its statement, or a reason why it reads few rows", () => {
    assert.deepEqual(
      found.filter((name) => !listed.includes(name)),
      [],
      "add a limit, pages or stretches with pauses, and an entry with the reason",
    );
  });

  it("is listed once, and no longer than it needs to be", () => {
    assert.deepEqual(
      listed.filter((name, index) => !found.includes(name) || listed.indexOf(name) !== index),
      [],
    );
  });

  it("that has no limit is recognised", () => {
    const text = 'export const allJobs = (db: Db) => db.selectFrom("jobs").selectAll().execute();';
    const two = `${text.slice(0, -1)};\ndb.selectFrom("teams").select("id").limit(1);`;
    for (const [source, reads, bounds] of [
      [text, 1, 0],
      [two, 2, 1],
      [text.replace(".execute", ".limit(1).execute"), 1, 1],
      [text.replace(".execute", '.where("id", "=", id).execute'), 1, 1],
      [text.replace(".execute", '.where("team_id", "=", id).execute'), 1, 0],
      ["const q = sql`select id from jobs`", 1, 0],
    ] as const)
      assert.deepEqual([readsIn(source), boundsIn(source)], [reads, bounds], source);
  });
});
