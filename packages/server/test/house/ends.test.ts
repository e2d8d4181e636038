/** A job ends in one place, so that whoever waits for its end is told. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";

const source = join(import.meta.dirname, "../../src");

/** Files of the server whose text matches, without those excepted. */
async function filesWith(pattern: RegExp, exceptions: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(source, { recursive: true })).filter((file) => file.endsWith(".ts")))
    if (pattern.test(await readFile(join(source, name), "utf8")) && !exceptions.includes(name)) found.push(name);
  return found;
}

const moves = "store/queries/jobs/job-moves.ts";
const locks = await filesWith(/\blockPipelinesOf\(/, []);

it("only end-job.ts ends jobs: nobody else may call finishJob or finishJobs, which alone take a final state", async () => {
  assert.deepEqual(await filesWith(/\bfinishJobs?\b/, [moves]), ["domain/lifecycle/end-job.ts"]);
  // The types keep moveJob and moveJobs from final states; nobody may cast around them.
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
  // The program that collects a job's datasets writes to the team's warehouse, which has a table of that name, too.
  const exceptions = [moves, "warehouses/programs/collect.ts"];
  const kysely = /updateTable\("jobs"\)\s*\.set\((?=[^;]*?\))[^;]*?\bstatus:/;
  const sql = /update\s+jobs\s+set[^;`"]*\bstatus\s*=/i;
  assert.deepEqual(await filesWith(kysely, exceptions), []);
  assert.deepEqual(await filesWith(sql, exceptions), []);
});
