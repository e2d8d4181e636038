/** `millrace schedule`, from its creation to its deletion. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Pipeline, type PipelineSchedule, type PipelineScheduleItem, routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace schedule", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  let lineage: Lineage;
  let pipeline: string;
  before(async () => {
    cli = await commandLine();
    lineage = await openLineage(suite.server, suite.api);
    await lineage.make("final", shell("echo made", { query_name: "final.sh" }));
    pipeline = (await cli.json<Pipeline>("pipeline", "create", "final")).name;
  });
  after(() => lineage.close());

  const show = (name: string) => cli.json<PipelineSchedule>("schedule", "show", name);
  const create = (name: string, ...flags: string[]) =>
    cli.json<PipelineSchedule>("schedule", "create", name, pipeline, ...flags);

  test("create creates a schedule, and show lists the next five runs, also in local time", async () => {
    const said = await cli.print(
      ...["schedule", "create", "nightly", pipeline, "--cron", "30 2 * * *", "--timezone", "Europe/Berlin"],
    );
    assert.match(said, /^state\tactive$/m);
    const [, runs = ""] = /^next runs\t(.*)$/m.exec(said) ?? [];
    assert.equal(runs.split("\\n").length, 5);
    for (const run of runs.split("\\n")) assert.match(run, /^\S+Z \(\d{4}-\d\d-\d\d 02:30 Europe\/Berlin\)$/);
    assert.equal(await cli.print("schedule", "show", "nightly"), said);
    const { id, overlap, catch_up } = await show("nightly");
    assert.deepEqual([overlap, catch_up], ["skip", "one"]);
    assert.equal((await show(String(id))).schedule_name, "nightly", "by id too");
  });

  test("create with a time in the past runs once, at once, and show lists the result", async () => {
    await create("once", "--start-time", "2020-01-01T00:00Z");
    const done = await until("its run", async () => {
      const now = await show("once");
      return now.latest_run?.status === "COMPLETED" ? now : undefined;
    });
    const said = await cli.print("schedule", "show", "once");
    assert.match(said, new RegExp(`^newest run\t${done.latest_run?.name} COMPLETED `, "m"));
    assert.match(said, /^state\tover$/m);
    assert.match(said, /^health\tok$/m);
    const late = `${done.latest_run?.name} COMPLETED, \\d+d \\d+h late`;
    assert.match(said, new RegExp(`^last firings\t2020-01-01T00:00:00.000Z fired ${late}$`, "m"));
    assert.match(await cli.print("pipeline", "list"), new RegExp(`^${done.latest_run?.name}\tCOMPLETED`, "m"));
  });

  test("update changes, renames, pauses and resumes; --start-time= removes a time", async () => {
    await create("changed", "--cron", "@daily", "--start-time", "2099-01-01T00:00Z", "--overlap", "wait");
    assert.equal((await show("changed")).next_run, "2099-01-01T00:00:00.000Z");
    const sooner = await cli.json<PipelineSchedule>(
      "schedule",
      "update",
      "changed",
      "--start-time=",
      "--catch-up",
      "all",
    );
    assert.deepEqual([sooner.start_after, sooner.catch_up, sooner.overlap], [null, "all", "wait"]);
    assert.match(await cli.print("schedule", "update", "changed", "--pause"), /^state\tpaused$/m);
    assert.equal((await show("changed")).next_run, null);
    assert.match(await cli.print("schedule", "update", "changed", "--resume", "--name", "renamed"), /^state\tactive$/m);
    assert.equal((await show("renamed")).is_paused, false);
  });

  test("create --on-dataset creates a schedule that new versions fire, and --on-dataset= removes the trigger", async () => {
    await suite.api.call(routes.registerVersion, { body: { name: "arriving" } });
    const made = await create("arrival", "--on-dataset", "arriving", "--quiet-for", "0s");
    assert.deepEqual([made.trigger_dataset, made.quiet_seconds, made.next_run], ["@admin.default.arriving", 0, null]);
    const said = await cli.print("schedule", "show", "arrival");
    assert.match(said, /^state\tactive$/m);
    assert.match(said, /^on dataset\t@admin\.default\.arriving$/m);
    await suite.api.call(routes.registerVersion, { body: { name: "arriving" } });
    await until("its run", async () => (await show("arrival")).latest_run ?? undefined);
    const refused = await cli.refused(1, "schedule", "create", "round", pipeline, "--on-dataset", "final");
    assert.match(refused, /trigger itself: round makes @admin\.default\.final, which fires round/);
    assert.match(await cli.refused(64, "schedule", "update", "arrival", "--quiet-for", "soon"), /not a duration/);
    await cli.print("schedule", "update", "arrival", "--on-dataset=", "--cron", "@daily", "--quiet-for", "10m");
    assert.deepEqual((await show("arrival")).trigger_dataset, null);
    await cli.print("schedule", "delete", "arrival");
  });

  test("ls lists schedules by name, for people and for programs", async () => {
    const rows = (await cli.print("schedule", "ls")).trimEnd().split("\n");
    assert.deepEqual(
      rows.map((row) => row.split("\t").slice(1, 5)),
      [
        ["nightly", "active", "30 2 * * *", "Europe/Berlin"],
        ["once", "over", "once", "UTC"],
        ["renamed", "active", "@daily", "UTC"],
      ],
    );
    const list = await cli.json<PipelineScheduleItem[]>("schedule", "ls");
    assert.deepEqual(
      list.map(({ schedule_name }) => schedule_name),
      ["nightly", "once", "renamed"],
    );
  });

  test("show and ls report a newer script, update --refresh uses it, --follow latest uses it at each firing", async () => {
    const scripts = async () => (await cli.print("schedule", "ls")).split("\n")[0]?.split("\t").at(-1);
    assert.equal(await scripts(), "current");
    const newer = await lineage.make("final", shell("echo newer", { query_name: "final2.sh" }), [], "1.0.1");
    assert.equal(await scripts(), "1 newer");
    const said = await cli.print("schedule", "show", "nightly");
    const found = new RegExp(
      `^newer scripts\t@admin.default.final: final2.sh of \\S+ by admin \\(job ${newer.jobId}\\)$`,
      "m",
    );
    assert.match(said, found);
    assert.match(said, /^take them\tmillrace schedule update \d+ --refresh$/m);
    const after = await cli.json<PipelineSchedule>("schedule", "update", "nightly", "--refresh");
    assert.deepEqual(
      after.pipeline.job_runs.map(({ job_id }) => job_id),
      [newer.jobId],
    );
    assert.equal(await scripts(), "current");
    await cli.print("schedule", "update", "nightly", "--follow", "latest");
    assert.equal(await scripts(), "latest");
    assert.match(await cli.refused(64, "schedule", "update", "nightly", "--follow", "last"), /unknown policy 'last'/);
  });

  test("ls and show report that runs fail, and why, until one completes", async () => {
    await lineage.make("broken", shell("echo 'no such table' >&2; exit 3", { query_name: "broken.sh" }));
    const broken = (await cli.json<Pipeline>("pipeline", "create", "broken")).name;
    await cli.json("schedule", "create", "failing", broken, "--start-time", "2020-01-01T00:00Z");
    const why = await until("its run", async () => {
      const { health, health_reason } = await show("failing");
      return health === "failing" ? health_reason : undefined;
    });
    assert.match(why ?? "", /^The last run failed: .*broken\.sh/);
    const listed = (await cli.print("schedule", "ls")).split("\n").find((row) => row.includes("\tfailing\t")) ?? "";
    assert.equal(listed.split("\t").at(-2), why);
    const said = await cli.print("schedule", "show", "failing");
    assert.match(said, /^health\tfailing: The last run failed: /m);
    assert.match(said, /^last firings\t2020-01-01T00:00:00.000Z fired \S+ FAILED, /m);
    await cli.print("schedule", "delete", "failing");
  });

  test("its template accepts settings, and cannot be watched because it never runs itself", async () => {
    const { pipeline } = await cli.json<PipelineSchedule>("schedule", "show", "nightly");
    const set = await cli.run("pipeline", "settings", pipeline.name, "--timeout", "1h");
    assert.deepEqual([set.code, /next:/.test(set.stderr)], [0, false], set.stderr);
    assert.match(
      await cli.refused(1, "pipeline", "status", pipeline.name, "--watch"),
      /Cannot watch \S+: this pipeline is a template and never runs itself\n.*\n next: millrace schedule ls/,
    );
  });

  test("delete removes a schedule, and names one that does not exist", async () => {
    assert.equal(await cli.print("schedule", "delete", "once"), "Deleted schedule once\n");
    assert.deepEqual(await cli.json("schedule", "delete", "renamed"), { ok: true });
    assert.match(await cli.refused(1, "schedule", "show", "nighlty"), /There is no schedule 'nighlty'.*\n.*nightly\?/);
    assert.match(await cli.refused(1, "schedule", "delete", "once"), /There is no schedule 'once'/);
  });

  test("an invalid value is refused with 64, a refusal of the server ends with 1, each with the reason", async () => {
    const refused = (code: number, ...words: string[]) => cli.refused(code, "schedule", ...words);
    assert.match(await refused(64, "create", "x", pipeline), /The schedule would never run/);
    assert.match(await refused(64, "create", "x"), /PIPELINE is missing/);
    assert.match(
      await refused(64, "create", "x", pipeline, "--cron", "@daily", "--overlap", "skp"),
      /Did you mean skip/,
    );
    assert.match(await refused(64, "create", "x", pipeline, "--start-time", "whenever"), /schedule create --help/);
    assert.match(await refused(64, "update", "nightly"), /There is nothing to change/);
    assert.match(await refused(64, "update", "nightly", "--pause", "--resume"), /cannot be combined/);
    assert.match(await refused(1, "create", "x", pipeline, "--cron", "61 * * * *"), /cron_expression: expected five/);
    assert.match(await refused(1, "create", "x", "no-such", "--cron", "@daily"), /There is no pipeline no-such/);
    assert.match(await refused(1, "create", "nightly", pipeline, "--cron", "@daily"), /already has a schedule nightly/);
    assert.match(await refused(1, "update", "nightly", "--timezone", "Mars"), /IANA time zone/);
  });
});
