/** The work of a user is found in small steps, however many pipelines and schedules a team has. On both databases. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { KyselyPlugin } from "kysely";
import { setRunAs } from "../../src/domain/ownership/new-owner.ts";
import { findWork } from "../../src/domain/ownership/work.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Db, Store } from "../../src/store/drivers/store.ts";
import { insertSchedule } from "../../src/store/queries/schedules/schedules.ts";
import { buildPipeline, now } from "../support/built-pipelines.ts";
import { countReads } from "../support/counted-reads.ts";
import { everyTurn } from "../support/every-turn.ts";
import type { InProcessServer } from "../support/in-process.ts";
import { databases, startOn } from "../support/on-database.ts";

/** Runs of each pipeline, and characters of each script: more than one statement reads, and more than a test wants. */
const runs = 300;
const script = "x".repeat(4000);
const pipelines = 4;

for (const kind of databases)
  describe(`the work of a user, on ${kind}`, () => {
    let server: InProcessServer;
    let store: Store;
    before(async () => {
      server = await startOn(kind);
      store = server.store;
      const names = Array.from({ length: runs }, (_, index) => `run-${index}`);
      const shape = Object.fromEntries(names.map((name) => [name, []]));
      const specs = Object.fromEntries(
        names.map((name, index) => [name, { query: script, scopes: "[]", credentials_name: `set-${index % 3}` }]),
      );
      for (let index = 0; index < pipelines; index++) {
        const isTemplate = index % 2 === 1;
        const rest = isTemplate ? ({ is_template: 1, status: "PENDING" } as const) : {};
        const { row } = await buildPipeline(store, shape, { status: "PAUSED", rest, specs });
        if (isTemplate) await store.write((db) => insertSchedule(db, schedule(`nightly ${index}`, row.id)));
      }
    });
    after(() => server.dispose());

    it("is counted without reading scripts, with a pause after each statement that reads many rows", async () => {
      const { db, bytes } = countReads(store.db);
      const steps = new Steps();
      const found = await findWork(steps.counted(db), { userId: 1, teamId: 1 }, steps.pause);
      const names = ["set-0", "set-1", "set-2"];
      for (const { credentials, runs: count } of [...found.pipelines, ...found.schedules])
        assert.deepEqual([[...credentials].sort(), count], [names, runs]);
      assert.deepEqual([found.pipelines.length, found.schedules.length], [pipelines / 2, pipelines / 2]);
      assert.ok(steps.most <= runs + 10, `${steps.most} rows between two pauses`);
      assert.ok(bytes() < pipelines * runs * 100, `${bytes()} bytes: the scripts have ${pipelines * runs * 4000}`);
    });

    it("is handed over with few statements before each pause", async () => {
      const row = await store.db.selectFrom("pipelines").selectAll().where("status", "=", "PAUSED").limit(1).execute();
      const [pipeline] = row;
      assert.ok(pipeline);
      const statements: number[] = [];
      await store.write(async (db) => {
        const counted = countReads(db);
        const timer = everyTurn(() => statements.push(counted.statements()));
        await setRunAs(counted.db, pipeline, { all: 1 }, now);
        timer();
        statements.push(counted.statements());
      });
      const steps = statements.map((count, index) => count - (statements[index - 1] ?? 0));
      if (kind === "SQLite") assert.ok(Math.max(...steps) <= 10, `${Math.max(...steps)} statements in one turn`);
      assert.ok((statements.at(-1) ?? 0) < runs / 10, `${statements.at(-1)} statements for ${runs} runs`);
    });
  });

/** Counts the rows that are read between two pauses. */
class Steps {
  most = 0;
  #rows = 0;
  readonly pause = async () => {
    this.#rows = 0;
  };
  counted(db: Db): Db {
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        this.#rows += result.rows.length;
        this.most = Math.max(this.most, this.#rows);
        return result;
      },
    };
    return db.withPlugin(plugin);
  }
}

const schedule = (name: string, pipeline_id: string) => ({
  team_id: 1,
  user_id: 1,
  name,
  pipeline_id,
  ...{ cron_expression: "@yearly", timezone: "UTC", start_after: null, next_run: iso(now), is_paused: 0, fired: 0 },
  ...{ overlap: "skip" as const, catch_up: "none" as const, waiting_since: null, latest_pipeline_id: null },
  ...{ last_error: null, trigger_dataset_id: null, created_at: iso(now), updated_at: iso(now) },
});
