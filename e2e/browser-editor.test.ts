/** The editor in a real browser: write, run, see the log, mend, run again. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Job, routes } from "@millrace/contract";
import { runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const editor = "/team/main/editor";

describe("the editor in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  const code = () => visit.page.locator(".cm-content");
  const write = async (text: string) => {
    await code().click();
    await visit.page.keyboard.press("ControlOrMeta+A");
    await visit.page.keyboard.insertText(text);
  };
  /** Waits for a line of the log beside the code. */
  const logs = (line: string) =>
    visit.page.getByRole("region", { name: "Log" }).getByText(line, { exact: true }).first().waitFor();
  const newest = async (name: string): Promise<Job> => {
    const [job] = await visit.client.call(routes.listJobs, { query: { name, limit: 1 } });
    assert.ok(job, `there is no job ${name}`);
    return job;
  };

  it("opens from the list of jobs, empty, with the code in colours", async () => {
    await visit.open("/team/main/datasets/jobs");
    await visit.page.getByRole("link", { name: "New job" }).click();
    await visit.sees(/Nothing ran yet/);
    await write("import os\nprint('hello from', os.getpid())\n");
    await visit.page.locator(".cm-line span").first().waitFor();
    const colourOf = (selector: string) =>
      visit.page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).color`);
    const [keyword, plain] = [await colourOf(".cm-line span"), await colourOf(".cm-line")];
    assert.notEqual(keyword, plain, "the style of the editor passed the policy");
    await visit.picture("editor");
  });

  it("Ctrl+Enter runs the script; its log and state are beside the code", async () => {
    await visit.page.getByLabel("Language").selectOption("SHELL");
    await visit.page.getByLabel("Name").fill("from-editor.sh");
    await write("echo step one; sleep 1; echo '<b>step two</b>'");
    await visit.page.keyboard.press("Control+Enter");
    await logs("step one");
    await logs("<b>step two</b>");
    await visit.sees(/Complete/);
    await visit.picture("editor-run");
    assert.equal((await newest("from-editor.sh")).query, "echo step one; sleep 1; echo '<b>step two</b>'");
  });

  it("a reload keeps the draft and the last run", async () => {
    await visit.page.reload();
    await logs("<b>step two</b>");
    assert.equal(await visit.page.getByLabel("Name").inputValue(), "from-editor.sh");
    assert.match((await code().textContent()) ?? "", /echo step one/);
  });

  it("a refusal of the server says why, and nothing typed is lost", async () => {
    assert.deepEqual(await visit.page.getByLabel("Language").locator("option").allTextContents(), ["Python", "Shell"]);
    await visit.page.locator("summary", { hasText: "Environment" }).click();
    await visit.page.getByLabel("Variables").fill("no variable");
    await write("echo kept");
    await visit.page.getByRole("button", { name: "Run" }).click();
    await visit.page.getByRole("alert").filter({ hasText: "Expected NAME=VALUE" }).waitFor();
    assert.equal(await visit.page.getByLabel("Variables").inputValue(), "no variable");
    assert.match((await code().textContent()) ?? "", /kept/);
    await visit.picture("editor-refused");
  });

  it("settings reach the job: variables, parameters, tags, priority in words, retries, files", async () => {
    await visit.open(editor);
    await visit.page.getByLabel("Language").selectOption("SHELL");
    await visit.page.getByLabel("Name").fill("settings.sh");
    await write("cat note.txt; echo $GREETING");
    for (const group of ["Environment", "Files and repository", "Where it runs", "Failures"]) {
      const summary = visit.page.locator("summary", { hasText: group });
      if (!(await summary.locator("..").evaluate((element) => (element as unknown as { open: boolean }).open)))
        await summary.click();
    }
    await visit.page.getByLabel("Variables").fill("GREETING=hi");
    await visit.page.getByLabel("Parameters").fill("day=2026-01-31");
    await visit.page.getByLabel("Tags").fill("one, two");
    await visit.page.getByLabel("Priority").selectOption({ label: "High" });
    await visit.page.getByLabel("Retries", { exact: true }).fill("1");
    await visit.page
      .getByLabel("Files", { exact: true })
      .setInputFiles({ name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("noted\n") });
    await visit.page.getByText("note.txt", { exact: true }).waitFor();
    await visit.picture("editor-settings");
    await visit.page.getByRole("button", { name: "Run" }).click();
    await logs("noted");
    await logs("hi");
    const job = await newest("settings.sh");
    assert.deepEqual(
      [job.environment, job.params, job.tags, job.priority, job.retries, job.files.length],
      [{ GREETING: "hi" }, { day: "2026-01-31" }, ["one", "two"], 2, 1, 1],
    );
  });

  it("edit and rerun: the draft has the settings of the job, and the new job names its source", async () => {
    const { job } = await runJob(visit.client, shell("echo wrong; exit 1", { query_name: "mend.sh", tags: ["kept"] }));
    await visit.open(`${editor}?from=${job.id}`);
    await visit.sees(/Edit and rerun/);
    await code().getByText("echo wrong").waitFor();
    await write("echo right");
    await visit.page.keyboard.press("Control+Enter");
    await logs("right");
    const rerun = await waitForEnd(visit.client, (await newest("mend.sh")).id);
    assert.deepEqual([rerun.status, rerun.tags, rerun.rerun_from_job_id], ["COMPLETE", ["kept"], job.id]);
  });

  it("a cron expression makes a task, which says when it runs next", async () => {
    await visit.open(editor);
    await visit.page.locator("summary", { hasText: "When it runs" }).click();
    await visit.page.getByLabel("Start", { exact: true }).selectOption("cron");
    await visit.page.getByRole("button", { name: "Schedule" }).click();
    await visit.page.getByRole("alert").filter({ hasText: "expected five fields" }).waitFor();
    await visit.page.getByLabel("Cron expression").fill("@daily");
    await visit.sees(/At 00:00 every day[\s\S]*Next runs/);
    await visit.page.locator("section[aria-label=Preview] tbody tr").first().waitFor();
    await visit.page.getByRole("button", { name: "Schedule" }).click();
    await visit.sees(/The task creates jobs at its times\. Next run: (in|tomorrow) /);
    await visit.page.getByRole("link", { name: "Open the task" }).waitFor();
    await visit.picture("editor-task");
  });

  it("a job that does not exist is not found", async () => {
    await visit.open(`${editor}?from=00000000-0000-4000-8000-000000000000`);
    await visit.sees(/There is no job 00000000/);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => {
    // The refusal of a job is an answer with a status that the browser notes.
    visit.complaints.splice(
      0,
      visit.complaints.length,
      ...visit.complaints.filter((text) => !/status of 422/.test(text)),
    );
    visit.assertClean();
  });
});
