/** "Copy as": what a page copies as curl, as a command and as Python works in a shell, and does what the page does. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { millrace } from "@millrace/testing/millrace/server.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const team = "/team/main";
type Way = "curl" | "CLI" | "Python";
const ways = ["curl", "CLI"] as const;

describe("copied commands", { skip: noBrowser }, () => {
  let visit: Visit;
  let lineage: Lineage;
  /** The home of the shell in which the copied commands run. */
  let home: string;
  let token: string;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), "millrace-copied-"));
    await symlink(millrace, join(home, "millrace"));
    await writeFile(join(home, "here.csv"), "1");
    visit = await Visit.begin({ env: { MILLRACE_JOB_PATHS: home } });
    await visit.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    token = await visit.server.token();
    lineage = await openLineage(visit.server, visit.client);
    await lineage.make("raw", shell("sleep 600", { query_name: "raw.sh" }));
  });
  after(async () => {
    await lineage.close();
    await visit.end();
    await rm(home, { recursive: true, force: true });
  });

  /** Copies an action of the page that is open. */
  async function copy(title: string, way: Way): Promise<string> {
    const menu = visit.page.locator("main .copy-as").first();
    await menu.waitFor();
    if ((await menu.getAttribute("open")) === null) await menu.locator("summary").click();
    await menu.getByRole("group", { name: title, exact: true }).getByRole("button", { name: way }).click();
    await menu.getByText(new RegExp(`^Copied .*as ${way}$|^Copied as ${way}$`)).waitFor();
    return (await visit.page.evaluate("navigator.clipboard.readText()")) as string;
  }

  /** Runs a text in a shell, or in Python. Returns its output. */
  async function run(text: string, way: Way): Promise<string> {
    const env = {
      PATH: `${home}:${process.env["PATH"]}`,
      HOME: home,
      MILLRACE_TOKEN: token,
      DATACHAIN_STUDIO_TOKEN: token,
      DATACHAIN_STUDIO_URL: visit.server.url,
    };
    const program = way === "Python" ? "python3" : "/bin/sh";
    return (await promisify(execFile)(program, ["-c", text], { env, cwd: home })).stdout;
  }

  async function runCopied(path: string, title: string, way: Way): Promise<string> {
    await visit.open(path);
    return run(await copy(title, way), way);
  }

  const pipeline = async (review: boolean) =>
    (await visit.client.call(routes.triggerPipeline, { body: { datasets: ["raw"], review } })).pipeline;
  const statusOf = async (name: string) => (await visit.client.call(routes.getPipeline, { query: { name } })).status;
  const schedules = () => visit.client.call(routes.listSchedules, { query: {} });
  const backfills = () => visit.client.call(routes.listBackfills, { query: {} });
  /** Creates a schedule that does not fire during the test. */
  const schedule = async (schedule_name: string) => {
    const { name } = await pipeline(true);
    const body = { schedule_name, pipeline_name: name, cron_expression: "0 0 1 1 *" };
    return (await visit.client.call(routes.createSchedule, { body })).schedule;
  };

  it("lists: jobs, pipelines, datasets, schedules, tasks, what comes next, backfills", async () => {
    await runJob(visit.client, shell("true", { query_name: "it's listed.sh" }));
    await createJob(visit.client, shell("true", { query_name: "task.sh", cron_expression: "0 0 1 1 *" }));
    const { name } = await pipeline(true);
    await schedule("listed");
    const body = { pipeline_name: name, from: "2026-01-01", to: "2026-01-01" };
    const { backfill } = await visit.client.call(routes.createBackfill, { body });
    await visit.client.call(routes.cancelBackfill, { body: { backfill_id: backfill.id } });
    const lists = {
      "/datasets/jobs?q=it's": /it's listed/,
      [`/pipelines?status=PAUSED&search=${name}`]: new RegExp(name),
      "/datasets": /raw/,
      "/schedules": /listed/,
      "/schedules?tab=tasks": /task\.sh/,
      "/schedules?tab=upcoming": /listed/,
      "/schedules?tab=backfills": new RegExp(name),
    };
    for (const [path, expected] of Object.entries(lists))
      for (const way of ways) assert.match(await runCopied(team + path, "List", way), expected, `${path} as ${way}`);
    const text = await runCopied(`${team}/storage?uri=file://${home}`, "List", "curl");
    assert.match(text, /"name":"here\.csv"/);
  });

  it("a job: show, log, rerun, cancel", async () => {
    const { job } = await runJob(visit.client, shell("echo it is printed", { query_name: "printing.sh" }));
    const path = `${team}/datasets/jobs/${job.id}`;
    for (const way of ways) {
      assert.match(await runCopied(path, "Show", way), /printing\.sh/);
      assert.match(await runCopied(path, "Log", way), /it is printed/);
      await runCopied(path, "Rerun", way);
    }
    await visit.picture("copy-as-job");
    const runs = await visit.client.call(routes.listJobs, { query: { search: "printing.sh" } });
    assert.equal(runs.length, 3);
    for (const way of ways) {
      const { id } = await createJob(visit.client, shell("sleep 600"));
      await waitForStatus(visit.client, id, ["RUNNING"]);
      await runCopied(`${team}/datasets/jobs/${id}`, "Cancel", way);
      await waitForStatus(visit.client, id, ["CANCELED"]);
    }
  });

  it("a script in the editor", { timeout: 60_000 }, async () => {
    await visit.open(`${team}/editor`);
    await visit.page.getByLabel("Language").selectOption("SHELL");
    await visit.page.getByLabel("Name").fill("written.sh");
    await visit.page.locator(".cm-content").click();
    await visit.page.keyboard.insertText("echo 'from the editor'");
    const text = await run(await copy("Run", "curl"), "curl");
    assert.match(text, /"name":"written\.sh"/);
    assert.match(await copy("Run", "CLI"), /^millrace job run written\.sh .*--team main$/);
  });

  it("a pipeline: create, show, pause, resume, cancel, rerun", async () => {
    const full = "@admin.default.raw";
    for (const way of ways) await runCopied(`${team}/pipelines/new?dataset=${full}`, "Create", way);
    const made = await visit.client.call(routes.listPipelines, { query: { limit: 2 } });
    assert.deepEqual(
      made.map(({ status }) => status),
      ["PAUSED", "PAUSED"],
    );
    for (const [index, way] of ways.entries()) {
      const { name = "" } = made[index] ?? {};
      const path = `${team}/pipelines/${name}`;
      assert.match(await runCopied(path, "Show", way), new RegExp(name));
      for (const [title, status] of [
        ["Resume", "RUNNING"],
        ["Pause", "PAUSED"],
        ["Cancel", "CANCELED"],
        ["Rerun the rest", "RUNNING"],
      ] as const) {
        await runCopied(path, title, way);
        assert.equal(await statusOf(name), status, `${title} as ${way}`);
      }
      await runCopied(path, "Cancel", way);
    }
    await visit.page.click("main .copy-as summary");
    await visit.picture("copy-as-pipeline");
  });

  it("a dataset: show, rebuild, remove", async () => {
    for (const [index, way] of ways.entries()) {
      const name = `gone-${index}`;
      await lineage.make(name, shell("sleep 600", { query_name: `${name}.sh` }));
      const path = `${team}/datasets/@admin.default.${name}`;
      assert.match(await runCopied(path, "Show", way), new RegExp(name));
      await runCopied(path, "Rebuild", way);
      const [newest] = await visit.client.call(routes.listPipelines, { query: { search: name, limit: 1 } });
      assert.equal(newest?.status, "RUNNING");
      await visit.client.call(routes.cancelPipeline, { body: { pipeline_id: newest.pipeline_id } });
      await runCopied(path, "Remove the version", way);
      const left = await visit.client.call(routes.listDatasets, { query: { search: name } });
      assert.deepEqual(left, []);
    }
    // The page that is open reads what has just been removed.
    visit.expectComplaints(/status of 404/);
  });

  it("a schedule: create, show, pause, resume, delete", async () => {
    const { name } = await pipeline(true);
    for (const way of ways) {
      await visit.open(`${team}/schedules/new?pipeline=${name}`);
      await visit.page.getByLabel("Name", { exact: true }).fill(`made by ${way}`);
      await visit.page.getByLabel(/Cron/).fill("30 2 1 1 *");
      await run(await copy("Create", way), way);
    }
    const made = (await schedules()).filter(({ schedule_name }) => schedule_name.startsWith("made by"));
    assert.equal(made.length, 2);
    const [one, other] = made.map(({ cron_expression, timezone, overlap, catch_up, follow, quiet_seconds }) => ({
      ...{ cron_expression, timezone, overlap, catch_up, follow, quiet_seconds },
    }));
    assert.deepEqual(one, other);
    assert.equal(one?.cron_expression, "30 2 1 1 *");
    for (const [index, way] of ways.entries()) {
      const { id, schedule_name } = made[index] as (typeof made)[number];
      const path = `${team}/schedules/${id}`;
      const isPaused = async () => (await schedules()).find((item) => item.id === id)?.is_paused;
      assert.match(await runCopied(path, "Show", way), new RegExp(schedule_name));
      await runCopied(path, "Pause", way);
      assert.equal(await isPaused(), true);
      await runCopied(path, "Resume", way);
      assert.equal(await isPaused(), false);
      await runCopied(path, "Delete", way);
      assert.equal(await isPaused(), undefined);
    }
    await visit.open(team);
    visit.expectComplaints(/status of 404/);
  });

  it("a task: show, pause, resume, cancel", async () => {
    for (const way of ways) {
      const task = await createJob(
        visit.client,
        shell("true", { query_name: "yearly.sh", cron_expression: "@yearly" }),
      );
      const path = `${team}/schedules/tasks/${task.id}`;
      const find = async () =>
        (await visit.client.call(routes.listTasks, { query: {} })).find(({ id }) => id === task.id);
      assert.match(await runCopied(path, "Show", way), /yearly\.sh/);
      await runCopied(path, "Pause", way);
      assert.equal((await find())?.is_paused, true);
      await runCopied(path, "Resume", way);
      assert.equal((await find())?.is_paused, false);
      await runCopied(path, "Cancel", way);
      assert.equal(await find(), undefined);
    }
  });

  it("a backfill: start, show, cancel, retry", async () => {
    const { name } = await pipeline(true);
    for (const way of ways) {
      await visit.open(`${team}/schedules/backfills/new?pipeline=${name}`);
      await visit.page.getByLabel("From").fill("2026-01-01");
      await visit.page.getByLabel("To", { exact: true }).fill("2026-01-02");
      await run(await copy("Start", way), way);
      const [newest] = await backfills();
      assert.deepEqual([newest?.pipeline_name, newest?.total], [name, 2]);
      const path = `${team}/schedules/backfills/${newest?.id}`;
      assert.match(await runCopied(path, "Show", way), new RegExp(name));
      await runCopied(path, "Cancel", way);
      assert.equal((await backfills())[0]?.status, "CANCELED");
      await runCopied(path, "Retry failed", way);
      assert.equal((await backfills())[0]?.status, "RUNNING");
      await runCopied(path, "Cancel", way);
    }
  });

  it("as Python, reading and changing", async (test) => {
    const hasRequests = await run("import requests", "Python").then(
      () => true,
      () => false,
    );
    if (!hasRequests) return test.skip("this machine's Python has no requests");
    assert.match(await runCopied(`${team}/datasets`, "List", "Python"), /raw/);
    const { job } = await runJob(visit.client, shell("echo it is printed", { query_name: "from-python.sh" }));
    const path = `${team}/datasets/jobs/${job.id}`;
    assert.match(await runCopied(path, "Log", "Python"), /it is printed/);
    assert.match(await runCopied(path, "Rerun", "Python"), /from-python\.sh/);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => {
    // Pages read again what a copied command has just deleted.
    visit.expectComplaints(/status of 404/);
    visit.assertClean();
  });
});
