/** A job ends in one place, so that everything that waits for its end is updated. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";

const source = join(import.meta.dirname, "../../src");

/** Files of the server whose text matches, except the listed ones. */
async function filesWith(pattern: RegExp, exceptions: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(source, { recursive: true })).filter((file) => file.endsWith(".ts")))
    if (pattern.test(await readFile(join(source, name), "utf8")) && !exceptions.includes(name)) found.push(name);
  return found;
}

const moves = "store/queries/jobs/job-moves.ts";
const locks = await filesWith(/\blockPipelinesOf\(/, []);

it("only end-job.ts ends jobs: no other file calls finishJob or finishJobs, which alone accept a final state", async () => {
  assert.deepEqual(await filesWith(/\bfinishJobs?\b/, [moves]), ["domain/lifecycle/end-job.ts"]);
  // The types keep final states out of moveJob and moveJobs; a cast must not bypass that.
  assert.deepEqual(await filesWith(/\b(moveJobs?|beginDraftJobs)\([^;]*\bas (any|never|unknown)\b/, []), []);
});

it("whoever ends jobs locks their pipelines first, so that it never waits for who holds one", async () => {
  const exceptions = [
    "domain/lifecycle/end-job.ts",
    // Tasks are in no pipeline.
    "domain/schedules/task-firings.ts",
    // Nobody else has the store that a backup is restored to.
    "admin/backup/fill-store.ts",
  ];
  const ends = await filesWith(/\b(endJob|cancelWaiting|endLostAttempt)\(/, exceptions);
  assert.ok(ends.length > 0);
  assert.deepEqual(
    ends.filter((name) => !locks.includes(name)),
    [],
  );
});

it("only job-moves.ts writes the state of a job", async () => {
  // The program that collects a job's datasets writes to the team's warehouse, which also has a table of that name.
  const exceptions = [moves, "warehouses/programs/collect.ts"];
  const kysely = /updateTable\("jobs"\)\s*\.set\((?=[^;]*?\))[^;]*?\bstatus:/;
  const sql = /update\s+jobs\s+set[^;`"]*\bstatus\s*=/i;
  assert.deepEqual(await filesWith(kysely, exceptions), []);
  assert.deepEqual(await filesWith(sql, exceptions), []);
});
