/** `millrace pipeline`, from its creation to its last run. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pipeline } from "@millrace/contract";
import { readJob, readLog, shell } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace pipeline", () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "4" });
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  let lineage: Lineage;
  let count = 0;
  before(async () => {
    cli = await commandLine();
    lineage = await openLineage(suite.server, suite.api);
  });
  after(() => lineage.close());

  /** Three datasets, each created from the previous one; the middle one as the test defines it. */
  async function chain(middle = "true") {
    const prefix = `c${++count}`;
    const script = (name: string, query: string) => shell(query, { query_name: `${name}.sh` });
    const first = await lineage.make(`${prefix}_first`, script("first", "true"));
    const second = await lineage.make(`${prefix}_second`, script("second", middle), [first]);
    await lineage.make(`${prefix}_third`, script("third", "true"), [second]);
    return `${prefix}_third`;
  }
  const status = (name: string) => cli.json<Pipeline>("pipeline", "status", name);
  const create = async (dataset: string, ...flags: string[]) =>
    (await cli.json<Pipeline>("pipeline", "create", dataset, ...flags)).name;

  test("create makes it paused and shows its runs; resume and status --watch run it to its end", async () => {
    const dataset = await chain();
    const said = await cli.print("pipeline", "create", dataset);
    const [head = "", from = "", ...runs] = said.trimEnd().split("\n");
    const [, name = ""] = /^(\S+) {2}PAUSED {2}░+ 0\/3$/.exec(head) ?? assert.fail(head);
    assert.equal(from, `rebuilds @admin.default.${dataset}@1.0.0`);
    assert.deepEqual(
      runs.map((line) => /^· (\w+)\.sh +PENDING +[0-9a-f-]{36}$/.exec(line)?.[1]),
      ["first", "second", "third"],
    );
    assert.match(await cli.print("pipeline", "resume", name), new RegExp(`^${name} {2}RUNNING`));
    const { code, stdout, stderr } = await cli.run("pipeline", "status", name, "--watch");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^third\.sh\tCOMPLETE\t[0-9a-f-]{36}$/m);
    assert.match(stdout, new RegExp(`^${name}\tCOMPLETED\t3/3$`, "m"));
  });

  test("create takes several datasets, and with --run --watch runs them at once to the end", async () => {
    const datasets = [await chain(), await chain()];
    const { code, stdout } = await cli.run("pipeline", "create", ...datasets, "--run", "--watch");
    assert.equal(code, 0);
    assert.match(stdout, /\tCOMPLETED\t6\/6\n$/);
    await cli.refused(64, "pipeline", "create", "x", "--watch");
    assert.match(await cli.refused(64, "pipeline", "create"), /DATASET is missing/);
  });

  test("a dataset that cannot be rebuilt is refused by name", async () => {
    const said = await cli.refused(1, "pipeline", "create", "nowhere");
    assert.match(said, /There is no dataset @admin\.default\.nowhere in the team main/);
  });

  test("watching a pipeline that fails ends with 1 and says why; retry-job and rerun continue it", async () => {
    const gate = suite.gate(`fails-${++count}`);
    const name = await create(await chain(`[ -e ${gate.path} ]`), "--run");
    const { code, stderr } = await cli.run("pipeline", "status", name, "-w");
    assert.equal(code, 1);
    assert.match(
      stderr,
      /error: The pipeline \S+ failed\n {2}why: second\.sh \(job .* failed: .*exit code 1\. It wrote nothing to its log\.\n next: millrace pipeline rerun/,
    );
    assert.match(await cli.print("pipeline", "status", name), /✖ third\.sh +CANCELED/);
    await gate.open();
    await cli.print("pipeline", "retry-job", name, "second.sh");
    assert.equal((await cli.run("pipeline", "status", name, "-w")).code, 1);
    assert.deepEqual(
      (await status(name)).job_runs.map((run) => run.status),
      ["COMPLETE", "COMPLETE", "CANCELED"],
    );
    await cli.print("pipeline", "rerun", name);
    assert.equal((await cli.run("pipeline", "status", name, "-w", "--json")).code, 0);
  });

  test("pause, remove-job with the beginning of an id, and cancel work", async () => {
    const gate = suite.gate(`slow-${++count}`);
    const name = await create(await chain(gate.wait), "--run");
    await until("the middle runs", async () => (await status(name)).job_runs[1]?.status === "RUNNING");
    assert.match(await cli.print("pipeline", "pause", name), /PAUSED/);
    const third = (await status(name)).job_runs[2]?.created_job_id ?? "";
    await cli.refused(64, "pipeline", "remove-job", name, "0");
    assert.doesNotMatch(await cli.print("pipeline", "remove-job", name, third.slice(0, 35)), /third\.sh/);
    assert.match(await cli.refused(1, "pipeline", "remove-job", name, "second.sh"), /only a run that is PENDING/);
    await cli.print("pipeline", "cancel", name);
    assert.equal((await cli.run("pipeline", "status", name, "-w")).code, 2);
    assert.match(
      await cli.refused(1, "pipeline", "resume", name),
      /is CANCELED; resume is allowed only while it is PAUSED/,
    );
  });

  test("settings apply to all runs, and an empty value removes one", async () => {
    const name = await create(await chain('cat note.txt; echo "$WHO"'));
    const note = await cli.write("note.txt", "hello\n");
    await cli.print("pipeline", "settings", name, "--env", "WHO=all", "--files", note, "--priority", "2", "--req=");
    const set = await status(name);
    assert.deepEqual([set.environment_variables, set.files?.length, set.priority], [{ WHO: "all" }, 1, 2]);
    assert.deepEqual((await cli.json<Pipeline>("pipeline", "settings", name, "--workers", "1")).workers, 1);
    await cli.print("pipeline", "resume", name);
    assert.equal((await cli.run("pipeline", "status", name, "-w")).code, 0);
    const second = (await status(name)).job_runs[1]?.created_job_id ?? "";
    assert.equal(await readLog(suite.api, second), "hello\nall\n");
    assert.equal((await readJob(suite.api, second)).priority, 2);
    const other = await create(await chain());
    await cli.print("pipeline", "settings", other, "--env", "WHO=x", "--files", note);
    const back = await cli.json<Pipeline>("pipeline", "settings", other, "--env=", "--files=");
    assert.deepEqual([back.environment_variables, back.files], [{}, null]);
    const listings = async (...flags: string[]) =>
      (await cli.json<Pipeline>("pipeline", "settings", other, ...flags)).reuse_listings;
    assert.deepEqual([await listings("--reuse-listings"), await listings("--list-anew")], [true, false]);
    assert.match(
      await cli.refused(64, "pipeline", "settings", other, "--list-anew", "--reuse-listings"),
      /cannot be combined/,
    );
    await cli.refused(64, "pipeline", "settings", other);
  });

  test("ls is an alias of list, and resume, rerun and retry-job watch to the end with --watch", async () => {
    const gate = suite.gate(`watched-${++count}`);
    const name = await create(await chain(`[ -e ${gate.path} ]`));
    assert.equal((await cli.run("pipeline", "resume", name, "--watch")).code, 1);
    assert.equal((await cli.run("pipeline", "retry-job", name, "second.sh", "-w")).code, 1);
    await gate.open();
    const { code, stdout } = await cli.run("pipeline", "rerun", name, "--watch");
    assert.equal(code, 0);
    assert.match(stdout, /COMPLETED/);
    assert.equal(await cli.print("pipeline", "ls"), await cli.print("pipeline", "list"));
  });

  test("list shows pipelines newest first, by status and text", async () => {
    const dataset = await chain();
    const name = await create(dataset);
    const rows = async (...flags: string[]) =>
      (await cli.print("pipeline", "list", ...flags))
        .trimEnd()
        .split("\n")
        .map((line) => line.split("\t"));
    const [newest = []] = await rows("--limit", "1");
    assert.deepEqual(newest.slice(0, 4), [name, "PAUSED", "0/3", `@admin.default.${dataset}`]);
    assert.equal((await rows("--search", dataset)).length, 1);
    assert.ok((await rows("--status", "paused,failed")).some(([first]) => first === name));
    assert.deepEqual(await cli.json("pipeline", "list", "--search", dataset), [await status(name)]);
    assert.match((await cli.run("pipeline", "list", "--search", "no such text")).stderr, /No pipelines found/);
  });

  test("on a terminal, watching redraws the tree", async () => {
    const gate = suite.gate(`drawn-${++count}`);
    const name = await create(await chain(gate.wait), "--run");
    await until("the middle runs", async () => (await status(name)).job_runs[1]?.status === "RUNNING");
    const { code, stdout } = await cli.type([["second.sh", () => gate.open()]], "pipeline", "status", name, "--watch");
    assert.equal(code, 0);
    assert.ok(stdout.includes("\u001b[5A"), "it goes back over the five lines that it drew");
    assert.match(stdout, /✔ third\.sh/);
  });

  test("Ctrl-C stops watching, not the pipeline", async () => {
    const gate = suite.gate(`left-${++count}`);
    const name = await create(await chain(gate.wait), "--run");
    const watching = cli.start("pipeline", "status", name, "--watch");
    await until("it is watched", () => watching.stdout.includes("first.sh"));
    watching.kill("SIGINT");
    const { code, stderr } = await watching.ended();
    assert.equal(code, 130);
    assert.match(stderr, /The pipeline continues/);
    await gate.open();
    await until("it is complete", async () => (await status(name)).status === "COMPLETED");
  });
});
