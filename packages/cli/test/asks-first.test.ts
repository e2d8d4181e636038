/** Each command that removes or replaces something is listed in a table in docs/operations.md. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Command, commands } from "../src/arguments.ts";

/** Commands that only read, create something new, or change what the same command can change back. */
const takesNothing = [
  ...["serve", "doctor", "completion", "audit", "backup verify"],
  ...["auth login", "auth token", "auth team", "auth approve", "auth deny", "auth status", "admin token", "admin link"],
  ...["user add", "user ls", "user show", "user set", "user enable"],
  ...["team add", "team ls", "team show", "team usage", "team members", "team add-member", "team invite"],
  ...["team invitations", "team dataset-copies", "token create", "token ls"],
  ...["team add-service-account", "team service-tokens", "team create-service-token"],
  ...["job hand-over", "pipeline hand-over"],
  ...["job run", "job ls", "job logs", "job show", "job why", "job usage", "job rerun", "job clusters"],
  ...["dataset ls", "dataset show", "dataset lineage", "dataset edit"],
  ...["pipeline create", "pipeline status", "pipeline list", "pipeline ls", "pipeline pause", "pipeline resume"],
  ...["pipeline settings", "pipeline rerun", "pipeline retry-job"],
  ...["task ls", "task show", "task pause", "task resume", "task update", "upcoming"],
  ...["pipeline backfill", "backfill ls", "backfill show", "backfill retry"],
  ...["schedule create", "schedule update", "schedule ls", "schedule show"],
  ...["cluster add", "cluster ls", "cluster show", "cluster set", "cluster drain", "cluster test"],
  ...["credentials ls", "credentials default"],
  ...["webhook create", "webhook ls", "webhook show", "webhook test", "webhook update", "webhook deliveries"],
  ...["webhook redeliver", "notify set", "notify ls", "notify test"],
  ...["storage ls", "storage cat", "storage du", "storage stat", "storage explain"],
];

describe("commands that remove or replace", async () => {
  const text = await readFile(join(import.meta.dirname, "../../../docs/operations.md"), "utf8");
  const section = /## Commands that remove or replace\n([\s\S]*?)\n## /.exec(text)?.[1] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  const all = Object.entries(commands) as [string, Command][];
  const longestFirst = all.map(([path]) => path).sort((a, b) => b.length - a.length);
  /** Commands in the first column of a row. */
  const namedIn = (row: string) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, words = ""]) => {
      const found = longestFirst.find((path) => words === path || words.startsWith(`${path} `));
      assert.ok(found, `there is no command ${words}`);
      return found;
    });
  const inTable = new Set(rows.flatMap(namedIn));

  it("are all in the table of docs/operations.md; every other command is known to remove nothing", () => {
    assert.deepEqual([...inTable, ...takesNothing].sort(), all.map(([path]) => path).sort());
  });

  it("have --yes if the table says that they ask, and only then", () => {
    const asking = rows.filter((row) => /`--yes`|on a terminal/.test(row.split("|")[3] ?? "")).flatMap(namedIn);
    const withYes = all.filter(([, { flags }]) => "yes" in flags).map(([path]) => path);
    assert.deepEqual([...new Set(asking)].sort(), withYes.sort());
  });
});
