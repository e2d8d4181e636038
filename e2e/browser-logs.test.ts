/** The log viewer in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createJob, python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { noBrowser, Visit } from "./support/browser.ts";

describe("the log viewer", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  const openLog = (id: string, query = "") => visit.open(`/team/main/datasets/jobs/${id}${query}`);
  const frame = () => visit.page.locator(".log-frame");
  const shown = () => visit.page.locator(".log-row:visible .log-text").allTextContents();
  const numbers = async () =>
    (await visit.page.locator(".log-number").allTextContents()).filter((text) => text !== "").map(Number);
  /** The texts of the rows that are inside of the frame. */
  const inView = () =>
    visit.page.evaluate<string[]>(`(() => {
      const box = document.querySelector(".log-frame").getBoundingClientRect();
      return [...document.querySelectorAll(".log-row")]
        .filter((row) => row.getBoundingClientRect().top >= box.top - 1 && row.getBoundingClientRect().bottom <= box.bottom + 1)
        .map((row) => row.querySelector(".log-text").textContent);
    })()`);
  /** Waits until an expression is true in the page. */
  const until = async (expression: string) => {
    for (let left = 200; left > 0; left--) {
      if (await visit.page.evaluate<boolean>(expression)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail(`not in time: ${expression}`);
  };
  /** Waits until the number that the first drawn row shows is as wanted. */
  const first = (isRight: string) =>
    until(`Number(document.querySelector(".log-row .log-text").textContent) ${isRight}`);

  it("opens a long log at its end, and scrolls to any line by keyboard, wheel and address", async () => {
    const { job } = await runJob(visit.client, shell("seq 1 300000"));
    await openLog(job.id);
    await visit.sees(/300,000 lines/);
    // The lines are counted before the last ones are read.
    await until(`[...document.querySelectorAll(".log-text")].at(-1).textContent === "300000"`);
    assert.equal((await inView()).at(-1), "300000");
    await frame().focus();
    await visit.page.keyboard.press("Home");
    await first("=== 1");
    await visit.page.keyboard.press("PageDown");
    await first("> 10");
    await frame().hover();
    await visit.page.mouse.wheel(0, 2000);
    await first("> 100");
    await openLog(job.id, "?line=123456");
    await visit.page.waitForSelector(".log-row.selected .log-text:text-is('123456')");
    await visit.picture("log-line");
    assert.ok((await numbers()).length < 100, "only what is shown is drawn");
    await visit.page.click(".log-number:text-is('123457')");
    assert.match(visit.page.url(), /line=123457/);
    await visit.page.goBack();
    await visit.page.waitForSelector(".log-row.selected .log-number:text-is('123456')");
    await visit.page.click("text=Go to the end");
    await until(`[...document.querySelectorAll(".log-text")].at(-1).textContent === "300000"`);
  });

  it("searches on the server, by text and by regular expression, and jumps to errors", async () => {
    const { job } = await runJob(
      visit.client,
      shell("seq 1 5000; echo 'ValueError: broken'; seq 5001 9000; echo Needle; seq 9001 9999; exit 1"),
    );
    await openLog(job.id);
    await visit.sees(/10,001 lines/);
    await visit.page.fill("input[type=search]", "needle");
    await visit.page.keyboard.press("Enter");
    await visit.page.waitForSelector("form [role=status]:text-is('1 line')");
    await visit.page.keyboard.press("Enter");
    await visit.page.waitForSelector(".log-row.hit mark:text-is('Needle')");
    await visit.picture("log-search");
    await visit.page.fill("input[type=search]", "^77[0-4]$");
    await visit.page.click("button:has-text('Regex')");
    await visit.page.press("input[type=search]", "Enter");
    await visit.sees(/5 lines/);
    await visit.page.click("button[aria-label='Previous hit']");
    await visit.page.waitForSelector(".log-row.hit .log-text:text-is('774')");
    await visit.page.reload();
    await visit.sees(/5 lines/);
    await visit.page.click("text=Next error");
    await visit.page.waitForSelector(".log-row.hit .log-text:text-is('ValueError: broken')");
    await visit.page.waitForSelector("[role=status]:text-is('Line 5001 looks like an error')", { state: "visible" });
    await visit.page.fill("input[type=search]", "(a");
    await visit.page.press("input[type=search]", "Enter");
    await visit.sees(/not a valid regular expression/);
    visit.complaints.length = 0;
  });

  it("shows colours, progress bars and markup as what they are", async () => {
    const lines = [
      "\\033[1;31mred\\033[0m <script>document.title=1</script><img src=x onerror=alert(1)>",
      "10%%\\r20%%\\r30%%",
      " 45%%|####      | 450/1000 [00:12<00:15, 36.5it/s]",
      "Epoch 3/10 done",
      "2026-11-17T10:00:00Z with a time",
    ];
    const { job } = await runJob(visit.client, shell(`printf '${lines.join("\\n")}\\n'`));
    await openLog(job.id);
    await visit.sees(/5 lines/);
    assert.equal(await visit.page.textContent(".log .fg-1.bold"), "red");
    const texts = await shown();
    assert.match(texts[0] ?? "", /^red <script>document\.title=1<\/script><img src=x onerror=alert\(1\)>$/);
    assert.equal(texts[1], "30%");
    assert.equal(await visit.page.getAttribute(".log-row [role=progressbar]", "aria-valuenow"), "45");
    assert.match(texts[2] ?? "", /450\/1000.*36\.5it\/s.*15 s left/);
    assert.equal(await visit.page.locator(".log-row .log-meter:not(.wide)").count(), 1);
    await visit.page.click("button:text('Times')");
    assert.match((await visit.page.locator("time.log-time").last().textContent()) ?? "", /\d+:\d+:\d+/);
    await visit.picture("log-colours");
    await visit.page.click("button:text('Times')");
  });

  it("wraps long lines, and still ends at the last one", async () => {
    const { job } = await runJob(
      visit.client,
      shell("for i in $(seq 200); do printf 'word %.0s' $(seq 100); echo $i; done"),
    );
    await openLog(job.id);
    await visit.sees(/200 lines/);
    await visit.page.click("button:text-is('Wrap')");
    await until(`document.querySelector(".log-row").clientHeight > 30`);
    await until(`(() => {
      const last = [...document.querySelectorAll(".log-row")].at(-1);
      const { bottom } = document.querySelector(".log-frame").getBoundingClientRect();
      return last.textContent.endsWith("200") && Math.abs(last.getBoundingClientRect().bottom - bottom) < 3;
    })()`);
    await visit.picture("log-wrapped");
    await visit.page.click("button:text-is('Wrap')");
  });

  it("follows a job through a restart of the server; no line is lost or repeated", async () => {
    const job = await createJob(
      visit.client,
      shell("for i in $(seq 1 120); do echo line $i; sleep 0.1; done; echo end"),
    );
    await openLog(job.id);
    await visit.sees(/line 10/);
    const follow = visit.page.getByRole("button", { name: "Follow" });
    assert.equal(await follow.getAttribute("aria-pressed"), "true");
    await visit.picture("log-live");
    await follow.click();
    assert.equal(await follow.getAttribute("aria-pressed"), "false");
    const before = await inView();
    await visit.sees(/\d\d\d lines|[4-9]\d lines/);
    assert.deepEqual((await inView()).slice(0, 3), before.slice(0, 3), "the lines in view stay");
    await follow.click();
    assert.equal(await follow.getAttribute("aria-pressed"), "true");
    await visit.server.stop("SIGKILL");
    await visit.sees(/Connection lost/);
    await visit.server.start();
    await visit.sees(/Complete[\s\S]*121 lines/, 60);
    assert.equal((await inView()).at(-1), "end");
    await openLog(job.id, "?line=1");
    await visit.page.waitForSelector(".log-row.selected");
    assert.deepEqual((await inView()).slice(0, 3), ["line 1", "line 2", "line 3"]);
    visit.complaints.length = 0;
  });

  it("folds the build of the environment away", async () => {
    const lines = ["Building virtualenv with Python 3.12", "Resolved 2 packages in 1s", " + numpy==2.0", "own line"];
    const script = `print(${JSON.stringify(lines.join("\n"))})`;
    const { job } = await runJob(visit.client, python(script));
    await openLog(job.id);
    await visit.sees(/Environment build, 3 lines/);
    assert.deepEqual((await shown()).slice(-1), ["own line"]);
    await visit.picture("log-folded");
    await visit.page.click("text=Environment build, 3 lines");
    await visit.sees(/Resolved 2 packages/);
    await visit.page.click("button:has-text('Environment build')");
    await visit.sees(/Environment build, 3 lines/);
  });

  it("shows a real build of the environment while it goes on, and folds it away when the script begins", async () => {
    const requirements = "iniconfig==2.1.0";
    const script = "import iniconfig\nprint(iniconfig.__name__, 'is there')";
    const job = await createJob(visit.client, { ...python(script), requirements });
    await openLog(job.id);
    await visit.sees(/Environment build, \d+ lines/, 120);
    await visit.sees(/iniconfig is there/);
    assert.equal((await shown())[0], "iniconfig is there", "nothing of the build is left outside");
    await visit.page.click("text=/Environment build, \\d+ lines/");
    await visit.sees(/Building virtualenv with Python 3[\s\S]*iniconfig\s*==\s*2\.1\.0/);
    await visit.picture("log-build");
    const { job: again } = await runJob(visit.client, { ...python(script), requirements });
    await openLog(again.id);
    await visit.sees(/Using cached virtualenv[\s\S]*iniconfig is there/);
  });

  it("folds nothing of a build that failed", async () => {
    const input = { ...python("print('never')"), requirements: "iniconfig==0.0.0.dev999" };
    const { job, log } = await runJob(visit.client, input);
    assert.equal(job.status, "FAILED");
    await openLog(job.id);
    await visit.sees(/Why it failed/);
    const reason = log.split("\n").find((line) => line.includes("0.0.0.dev999")) ?? "";
    assert.notEqual(reason, "");
    await until(
      `[...document.querySelectorAll(".log-text")].some((line) => line.textContent.includes(${JSON.stringify(reason.trim())}))`,
    );
  });

  it("a job that wrote nothing says so", async () => {
    const { job } = await runJob(visit.client, shell("true"));
    await openLog(job.id);
    await visit.sees(/The job wrote nothing/);
    await visit.page.click("text=Next error");
    await visit.page.waitForSelector("[role=status]:text-is('No line looks like an error')", { state: "visible" });
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
