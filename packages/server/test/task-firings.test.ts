/** Many tasks and schedules at once, on both stores: how they share commits, whose turn it is, and what quotas refuse. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startPostgres, type TestPostgres } from "../../../e2e/support/postgres.ts";
import { openStore } from "../src/store/open-store.ts";
import type { Store } from "../src/store/store.ts";
import { FiringGround } from "./support/firing-ground.ts";

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`tasks and schedules on ${kind}`, () => {
    let postgres: TestPostgres | undefined;
    let dataDir: string;
    let databaseUrl = "";
    let store: Store;
    let ground: FiringGround;
    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), "millrace-firings-"));
      if (kind === "PostgreSQL") {
        postgres = await startPostgres();
        databaseUrl = await postgres.createDatabase();
      }
      store = await openStore({ dataDir, databaseUrl });
      ground = new FiringGround(store, dataDir);
      await ground.prepare();
    });
    after(async () => {
      ground.metrics.close();
      await store.close();
      await postgres?.stop();
      await rm(dataDir, { recursive: true });
    });

    /** What a test has made fires no more. */
    const clear = () =>
      store.write(async (db) => {
        await db.deleteFrom("tasks").execute();
        await db.updateTable("schedules").set({ next_run: null }).execute();
      });

    describe("quotas", () => {
      const refusedTask = /team .* has 3 tasks .*its quota \(max_tasks, MILLRACE_TEAM_TASKS\)\. Cancel .*or ask/;

      it("beyond max_tasks a task is refused, also among many at once; other jobs are not, nor other teams", async () => {
        const team = await ground.team("tasked", { max_tasks: 3 });
        const results = await Promise.allSettled([...Array(12)].map(() => ground.tasks(team, 1)));
        assert.equal(results.filter(({ status }) => status === "fulfilled").length, 3);
        await assert.rejects(ground.tasks(team, 1), refusedTask);
        await assert.rejects(ground.job(team, { start_after: "2031-01-01T00:00:00Z" }), refusedTask);
        await ground.job(team, {});
        await ground.tasks(await ground.team("untasked"), 4);
        await clear();
        await ground.tasks(team, 1);
        await clear();
      });

      it("beyond max_schedules a schedule is refused, also among many at once, and nothing is made", async () => {
        const team = await ground.team("scheduled", { max_schedules: 3 });
        const pipeline = await ground.pipeline(team);
        const results = await Promise.allSettled(
          [...Array(12)].map((_, index) => ground.schedule(team, pipeline, `schedule ${index}`)),
        );
        assert.equal(results.filter(({ status }) => status === "fulfilled").length, 3);
        await assert.rejects(
          ground.schedule(team, pipeline, "one more"),
          /has 3 schedules, its quota \(max_schedules, MILLRACE_TEAM_SCHEDULES\)\. Delete .*or ask/,
        );
        const templates = store.db.selectFrom("pipelines").select("id").where("team_id", "=", team.id);
        assert.equal((await templates.where("schedule_id", "is not", null).execute()).length, 3);
        await ground.setQuotas(team, { max_schedules: 4 });
        await ground.schedule(team, pipeline, "one more");
        await clear();
      });
    });
  });
