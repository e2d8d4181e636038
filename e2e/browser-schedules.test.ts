/** Schedules, tasks, upcoming runs and backfills in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type CreatePipelineScheduleInput, routes } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { until } from "@millrace/testing/until.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const list = "/team/main/schedules";
const evil = '<img src=x onerror="alert(1)">';

describe("schedules in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  let lineage: Lineage;
  let pipeline: string;
  before(async () => {
    visit = await Visit.begin();
    lineage = await openLineage(visit.server, visit.client);
    await lineage.make("final", shell('test "$MILLRACE_SCHEDULED_DATE" != 2026-01-02', { query_name: "final.sh" }));
    const body = { datasets: ["final"], review: true };
    pipeline = (await visit.client.call(routes.triggerPipeline, { body })).pipeline.name;
  });
  after(async () => {
    await lineage.close();
    await visit.end();
  });

  const click = (selector: string) => visit.page.click(selector);
  const answer = (words: string) => click(`dialog button:has-text("${words}")`);
  const create = async (schedule_name: string, rest: Partial<CreatePipelineScheduleInput>) => {
    const body = { schedule_name, pipeline_name: pipeline, ...rest };
    return (await visit.client.call(routes.createSchedule, { body })).schedule;
  };

  describe("the lists", () => {
    it("teach how to fill them while they are empty, and the tab is part of the address", async () => {
      await visit.open(list);
      await visit.sees(/No schedules yet[\s\S]*millrace schedule create/);
      await visit.picture("schedules-empty");
      await click('.tabs a:text("Tasks")');
      await visit.sees(/No tasks yet[\s\S]*millrace job run/);
      await click('.tabs a:text("Upcoming")');
      await visit.sees(/Nothing is scheduled/);
      await click('.tabs a:text("Backfills")');
      await visit.sees(/No backfills yet[\s\S]*millrace pipeline backfill/);
      await visit.page.reload();
      await visit.sees(/No backfills yet/);
      await visit.page.goBack();
      await visit.sees(/Nothing is scheduled/);
    });
  });

  describe("a new schedule", () => {
    it("shows its next runs while one types, in words and in both time zones", async () => {
      await visit.open(`${list}/new?pipeline=${pipeline}`);
      await visit.page.fill('label:text-is("Name") + input', "nightly");
      await visit.page.fill('label:text-is("Time zone") + input', "Asia/Tokyo");
      await visit.page.fill('label:text-is("Cron expression") + input', "30 2 * * 1-5");
      await visit.sees(/At 02:30 on weekdays/);
      await visit.sees(/In Asia\/Tokyo[\s\S]*02:30/);
      assert.equal(await visit.page.locator("section[aria-label=Preview] tbody tr").count(), 5);
      await visit.picture("schedule-new");
    });

    it("says beside the field what is wrong with it, and keeps what was typed", async () => {
      await visit.page.fill('label:text-is("Cron expression") + input', "61 * * * *");
      await visit.sees(/Expected five cron fields with a minute from 0 to 59, got "61"/);
      await visit.page.fill('label:text-is("Pipeline") + input', "no-such-pipeline");
      await click("text=Create the schedule");
      await visit.page.waitForSelector('input[aria-invalid="true"]');
      await visit.picture("schedule-new-error");
      assert.equal(await visit.page.inputValue('label:text-is("Name") + input'), "nightly");
      await visit.page.fill('label:text-is("Cron expression") + input', "30 2 * * 1-5");
      await click("text=Create the schedule");
      await visit.sees(/There is no pipeline no-such-pipeline/);
      visit.expectComplaints(/status of (422|404)/);
    });

    it("leads to its page when it is created", async () => {
      await visit.page.fill('label:text-is("Pipeline") + input', pipeline);
      await click("text=Create the schedule");
      await visit.page.waitForURL(/schedules\/\d+$/);
      await visit.sees(/Next runs[\s\S]*02:30[\s\S]*About[\s\S]*At 02:30 on weekdays \(Asia\/Tokyo\)/);
      await visit.picture("schedule-fresh");
    });
  });

  describe("the page of a schedule", () => {
    it("has a history with its runs, and a calendar of outcomes", async () => {
      const { id } = await create(evil, { start_after: "2020-01-01T00:00Z" });
      const read = () => visit.client.call(routes.getSchedule, { query: { schedule_id: id } });
      await until("its run", async () => (await read()).latest_run?.finished_at);
      await visit.open(`${list}/${id}`);
      await visit.sees(/Last run\s*Complete/);
      await visit.sees(/Outcomes by day/);
      // Nothing is ahead of it, so there is nothing to pause.
      assert.equal(await visit.page.locator('button:has-text("Pause")').count(), 0);
      await visit.picture("schedule-overview");
      await click('.tabs a:text("History")');
      await visit.sees(/Complete[\s\S]*2020[\s\S]*\d d/);
      await visit.picture("schedule-history");
      // The run leads back to its schedule.
      await click("main td a");
      await click('main a:has-text("the schedule")');
      await visit.page.waitForURL(new RegExp(`schedules/${id}$`));
    });

    it("is paused and resumed after it was said what happens to its pipelines", async () => {
      await visit.open(list);
      await click('tr:has-text("nightly") button:has-text("Pause")');
      assert.match((await visit.page.textContent("dialog")) ?? "", /running pipelines are paused, too/);
      await visit.picture("schedule-pause");
      await answer("Pause");
      await visit.sees(/Paused: The schedule is paused[^"]*nightly/);
      await click('tr:has-text("nightly") button:has-text("Resume")');
      assert.match((await visit.page.textContent("dialog")) ?? "", /paused pipelines resume, too/);
      await answer("Resume");
      await visit.sees(/Not run yetnightly/);
      await visit.picture("schedules-list");
    });

    it("changes only what was edited, and explains its policies", async () => {
      await visit.open(list);
      await click('main a:text("nightly")');
      await click('.tabs a:text("Settings")');
      await visit.page.selectOption('label:text-is("If the last run is still active") + select', "wait");
      await visit.sees(/At most one run waits/);
      await visit.page.fill('label:text-is("Name") + input', "every night");
      await click('button:text("Save")');
      await visit.sees(/Saved/);
      await visit.picture("schedule-settings");
      const [found] = (await visit.client.call(routes.listSchedules, { query: {} })).filter(
        ({ schedule_name }) => schedule_name === "every night",
      );
      assert.deepEqual([found?.overlap, found?.cron_expression], ["wait", "30 2 * * 1-5"]);
    });

    it("changes its owner, and says why that is refused", async () => {
      await click('button:text("Change owner")');
      await visit.page.fill('dialog label:text-is("New owner") + input', "nobody");
      await answer("Change the owner");
      await visit.page.waitForSelector('dialog [role="alert"]');
      assert.equal(await visit.page.inputValue('dialog label:text-is("New owner") + input'), "nobody");
      await visit.picture("schedule-owner");
      await answer("Cancel");
      visit.expectComplaints(/status of 4\d\d/);
    });

    it("is deleted after a question, which can be declined", async () => {
      await click('button:text("Delete")');
      await answer("Keep it");
      await click('button:text("Delete")');
      assert.match((await visit.page.textContent("dialog")) ?? "", /Pipelines that it has started continue/);
      await answer("Delete the schedule");
      await visit.page.waitForURL(/schedules$/);
      await visit.sees(/onerror/);
      assert.doesNotMatch(await visit.text(), /every night/);
    });

    it("that does not exist is not found", async () => {
      await visit.open(`${list}/4711`);
      await visit.sees(/Not found[\s\S]*There is no schedule 4711/);
      visit.expectComplaints(/status of 404/);
    });
  });

  describe("tasks", () => {
    it("show their times and jobs, are edited, paused and canceled", async () => {
      await createJob(visit.client, shell("echo hello", { query_name: `${evil}.sh`, cron_expression: "0 7 * * 1-5" }));
      await visit.open(`${list}?tab=tasks`);
      await visit.sees(/At 07:00 on weekdays/);
      await visit.picture("tasks-list");
      assert.match((await visit.page.getAttribute('a:has-text("New task")', "href")) ?? "", /editor\?start=cron$/);
      await click(`main a:has-text("onerror")`);
      await visit.sees(/Next runs[\s\S]*07:00[\s\S]*Jobs that it created\s*No jobs yet/);
      await click('button:text("Edit")');
      await visit.page.fill('label:text-is("Cron expression") + input', "0 8 * * *");
      await visit.sees(/At 08:00 every day[\s\S]*Next runs as typed[\s\S]*08:00[\s\S]*Next runs as saved[\s\S]*07:00/);
      await visit.picture("task-edit");
      await click('button:text("Save")');
      await visit.sees(/About[\s\S]*At 08:00 every day/);
      await click('button:has-text("Pause")');
      await visit.sees(/Paused/);
      await click('button:has-text("Resume")');
      const page = visit.page.url();
      await click('button:has-text("Run now")');
      await visit.page.waitForURL(/datasets\/jobs\/[0-9a-f-]+$/);
      await visit.sees(/Complete[\s\S]*Rerun of/);
      await visit.open(new URL(page).pathname);
      await visit.sees(/About[\s\S]*At 08:00 every day/);
      await click('button:has-text("Cancel task")');
      await answer("Cancel the task");
      await visit.page.waitForURL(/tab=tasks/);
      await visit.sees(/No tasks yet/);
      // The notice of the live stream may come before the answer: then the page reads the task once more.
      visit.expectComplaints(/status of 404/);
    });
  });

  describe("upcoming runs", () => {
    it("list schedules and tasks together, by day", async () => {
      await create("morning", { cron_expression: "0 6 * * *" });
      await createJob(visit.client, shell("echo hello", { query_name: "hourly.sh", cron_expression: "@hourly" }));
      await visit.open(`${list}?tab=upcoming`);
      await visit.sees(/hourly.sh[\s\S]*Task. Every hour/);
      await visit.sees(/morning[\s\S]*Schedule. At 06:00 every day/);
      await visit.picture("upcoming");
    });
  });

  describe("backfills", () => {
    it("show their runs before they are created, and what is wrong with the range", async () => {
      await visit.open(`${list}?tab=backfills`);
      await click("text=New backfill");
      await visit.page.fill('label:text-is("Pipeline") + input', pipeline);
      await visit.page.fill('label:text-is("From") + input', "2026-01-01");
      await visit.page.fill('label:text-is("To") + input', "2025-12-31");
      await visit.sees(/Expected a time that is not before/);
      visit.expectComplaints(/status of 422/);
      await visit.page.fill('label:text-is("To") + input', "2026-01-31");
      await visit.page.fill('label:text-is("Time zone") + input', "UTC");
      await visit.sees(/31 runs[\s\S]*and 21 more/);
      await visit.picture("backfill-new");
      await visit.page.fill('label:text-is("To") + input', "2026-01-03");
      await visit.sees(/3 runs/);
    });

    it("show each run, retry the failed ones, and are canceled", async () => {
      await click("text=Start the backfill");
      await visit.page.waitForURL(/backfills\/\d+$/);
      const backfill_id = Number(visit.page.url().split("/").at(-1));
      const ended = () =>
        until("its end", async () => {
          const now = await visit.client.call(routes.getBackfill, { query: { backfill_id } });
          return now.status === "FAILED" && now;
        });
      await ended();
      await visit.page.reload();
      await visit.sees(/1 of 3 complete, 1 failed[\s\S]*Complete[\s\S]*Failed[\s\S]*Not started/);
      // The reason is there without the id of the job, which would hide it.
      const reason = (await visit.page.textContent(".moments > li.failed .moment-error")) ?? "";
      assert.match(reason, /final\.sh/);
      assert.doesNotMatch(reason, /[0-9a-f]{8}-[0-9a-f]{4}/);
      await visit.picture("backfill-failed");
      await visit.page.selectOption('label:text-is("Show") + select', "FAILED");
      await visit.page.waitForURL(/status=FAILED/);
      assert.equal(await visit.page.locator(".moments > li").count(), 1);
      await click('button:has-text("Retry failed")');
      await ended();
      await visit.open(`${list}?tab=backfills`);
      await visit.sees(/Failed[\s\S]*1 of 3 complete/);
      await visit.picture("backfills-list");
    });
  });

  describe("a viewer", () => {
    it("sees everything, and is told why the actions are not allowed", async () => {
      await visit.asMember("viewer", async (page) => {
        await page.goto(`${visit.server.url}${list}`);
        const action = page.locator('tr:has-text("morning") button');
        assert.match((await action.getAttribute("title")) ?? "", /only editors and admins can do this/);
        assert.equal(await action.getAttribute("aria-disabled"), "true");
        await action.click({ force: true });
        assert.equal(await page.locator("dialog").count(), 0);
      });
    });
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
