/** `millrace pipeline backfill` and `millrace backfill`. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Backfill, BackfillItem, Pipeline } from "@millrace/contract";
import { readLog, shell } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace backfill", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  let lineage: Lineage;
  let pipeline: string;
  before(async () => {
    cli = await commandLine();
    lineage = await openLineage(suite.server, suite.api);
    await lineage.make("daily", shell("echo for $MILLRACE_SCHEDULED_DATE", { query_name: "daily.sh" }));
    await lineage.make("endless", shell("sleep 600", { query_name: "endless.sh" }));
    pipeline = (await cli.json<Pipeline>("pipeline", "create", "daily")).name;
  });
  after(() => lineage.close());

  const show = (id: number) => cli.json<Backfill>("backfill", "show", String(id));

  test("pipeline backfill runs the pipeline for each day, and show lists the state of each", async () => {
    const days = ["--from", "2026-01-30", "--to", "2026-02-01", "--every", "day"];
    const made = await cli.json<Backfill>("pipeline", "backfill", pipeline, ...days);
    assert.deepEqual([made.total, made.cron_expression, made.timezone], [3, "@daily", "UTC"]);
    const done = await until("its end", async () => {
      const now = await show(made.id);
      return now.status === "COMPLETED" ? now : undefined;
    });
    for (const { moment, pipeline_name } of done.moments) {
      const run = await cli.json<Pipeline>("pipeline", "status", pipeline_name ?? "");
      const log = await readLog(suite.api, run.job_runs[0]?.created_job_id ?? "");
      assert.ok(log.includes(`for ${moment.slice(0, 10)}`), log);
    }
    const said = await cli.print("backfill", "show", String(made.id));
    assert.match(said, /^status\tCOMPLETED$/m);
    assert.match(said, new RegExp(`^2026-02-01T00:00:00.000Z\tCOMPLETED\t${done.moments[2]?.pipeline_name}\t$`, "m"));
    const [first] = await cli.json<BackfillItem[]>("backfill", "ls");
    assert.deepEqual([first?.id, first?.completed], [made.id, 3]);
    assert.match(await cli.print("backfill", "ls"), new RegExp(`^${made.id}\t${pipeline}\tCOMPLETED\t3/3`, "m"));
  });

  test("cancel ends a backfill, and retry continues it", async () => {
    const { name } = await cli.json<Pipeline>("pipeline", "create", "endless");
    const flags = ["--from", "2026-01-01", "--to", "2026-01-02", "--on-failure", "continue", "--parallel", "2"];
    const { id, parallel, on_failure } = await cli.json<Backfill>("pipeline", "backfill", name, ...flags);
    assert.deepEqual([parallel, on_failure], [2, "continue"]);
    await until("both runs", async () => (await show(id)).running === 2 || undefined);
    assert.match(await cli.print("backfill", "cancel", String(id)), /^status\tCANCELED$/m);
    await until("their end", async () => (await show(id)).failed === 2 || undefined);
    assert.match(await cli.print("backfill", "retry", String(id)), /^status\tRUNNING$/m);
    await cli.print("backfill", "cancel", String(id));
  });

  test("an invalid value is refused with 64, a refusal of the server ends with 1, each with the reason", async () => {
    const refused = (code: number, ...words: string[]) => cli.refused(code, ...words);
    assert.match(
      await refused(64, "pipeline", "backfill", pipeline, "--from", "2026-01-01"),
      /--from and --to are required/,
    );
    const days = ["--from", "2026-01-01", "--to", "2026-01-02"];
    assert.match(
      await refused(64, "pipeline", "backfill", pipeline, ...days, "--on-failure", "wait"),
      /stop, continue/,
    );
    assert.match(
      await refused(1, "pipeline", "backfill", pipeline, ...days, "--every", "sometimes"),
      /every: expected hour/,
    );
    assert.match(await refused(1, "pipeline", "backfill", "no-such", ...days), /There is no pipeline no-such/);
    assert.match(await refused(64, "backfill", "show", "x"), /is not the number of a backfill/);
    assert.match(await refused(1, "backfill", "show", "4711"), /There is no backfill 4711/);
  });
});
