/** `millrace task` and `millrace upcoming`, from the creation of a task to its removal. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { routes, type Task, type TaskItem, type Upcoming } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace task", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  let script: string;
  before(async () => {
    cli = await commandLine({ env: { TZ: "America/Lima" } });
    script = await cli.write("nightly.sh", "echo made\n");
  });

  const show = (name: string) => cli.json<Task>("task", "show", name);

  test("job run --cron --timezone creates a task, and show lists the next five runs, also in local time", async () => {
    const id = (await cli.print("job", "run", script, "--cron", "30 2 * * *", "--timezone", "Europe/Berlin")).trim();
    const said = await cli.print("task", "show", "nightly.sh");
    assert.match(said, new RegExp(`^id\\t${id}$`, "m"));
    assert.match(said, /^state\tactive$/m);
    const [, runs = ""] = /^next runs\t(.*)$/m.exec(said) ?? [];
    assert.equal(runs.split("\\n").length, 5);
    for (const run of runs.split("\\n")) assert.match(run, /^\S+Z \(\d{4}-\d\d-\d\d 02:30 Europe\/Berlin\)$/);
    assert.equal((await show(id.slice(-8))).id, id, "by the end of its id, too");
  });

  test("update changes cron, time zone and name; pause and resume work; ls shows everything", async () => {
    const words = ["--cron", "0 4 * * *", "--timezone=", "--name", "renamed"];
    assert.match(await cli.print("task", "update", "nightly.sh", ...words), /^cron\t0 4 \* \* \*$/m);
    assert.match(await cli.print("task", "pause", "renamed"), /^state\tpaused$/m);
    const [, ...paused] = (await cli.print("task", "ls")).trimEnd().split("\t");
    assert.deepEqual(paused.slice(0, 5), ["renamed", "paused", "0 4 * * *", "UTC", "-"]);
    assert.equal((await cli.json<Task>("task", "resume", "renamed")).is_paused, false);
    const [task] = await cli.json<TaskItem[]>("task", "ls");
    assert.match(task?.next_run ?? "", /T04:00:00\.000Z$/);
  });

  test("upcoming shows schedules and tasks by time, in the zone of --tz, of the profile, or of the machine", async () => {
    const lineage = await openLineage(suite.server, suite.api);
    await lineage.make("final", shell("echo made", { query_name: "final.sh" }));
    await lineage.close();
    const { pipeline } = await suite.api.call(routes.triggerPipeline, { body: { datasets: ["final"], review: true } });
    const body = { schedule_name: "yearly", pipeline_name: pipeline.name, cron_expression: "@yearly" };
    await suite.api.call(routes.createSchedule, { body });
    const items = await cli.json<(Upcoming & { local: string })[]>("upcoming", "--tz", "Asia/Kolkata");
    assert.deepEqual(
      items.map(({ kind, name }) => [kind, name]),
      [
        ["task", "renamed"],
        ["schedule", "yearly"],
      ],
    );
    for (const { at, local } of items) assert.equal(Date.parse(local), Date.parse(at));
    assert.match(items[1]?.local ?? "", /-01-01T05:30:00\+05:30$/);
    await cli.print("user", "set", "--timezone", "Asia/Tokyo");
    const rows = (await cli.print("upcoming")).trimEnd().split("\n");
    assert.match(rows[0] ?? "", /^\d{4}-\d\d-\d\dT13:00:00\+09:00\trenamed\ttask\t/);
    assert.match(rows[1] ?? "", /^\d{4}-01-01T09:00:00\+09:00\tyearly\tschedule\t\d+\t@yearly\tUTC\t/);
    assert.equal((await cli.json<Upcoming[]>("upcoming", "--limit", "1")).length, 1);
    assert.match(await cli.refused(64, "upcoming", "--tz", "Mars"), /unknown time zone 'Mars'/);
    await cli.print("user", "set", "--timezone=");
    assert.match(await cli.print("upcoming"), /T23:00:00-05:00\trenamed/, "the machine's own");
  });

  test("rm removes a task, and names one that does not exist", async () => {
    assert.match(await cli.refused(1, "task", "show", "renamd"), /There is no task 'renamd'.*\n.*renamed\?/);
    assert.match(await cli.refused(64, "task", "update", "renamed"), /There is nothing to change/);
    assert.match(await cli.refused(1, "task", "update", "renamed", "--timezone", "Mars"), /IANA time zone/);
    assert.equal(await cli.print("task", "rm", "renamed"), "Removed task renamed\n");
    assert.deepEqual(await cli.json("task", "ls"), []);
    for (const _ of [1, 2]) await cli.print("job", "run", script, "--cron", "@daily");
    assert.match(await cli.refused(1, "task", "rm", "nightly.sh"), /'nightly\.sh' matches 2 tasks/);
  });
});
