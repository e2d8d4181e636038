/**
 * Accessibility of the whole web UI in a real browser: axe-core finds nothing on any page, in both themes, whether it is
 * empty, full, broken or shown to a viewer.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { repository } from "@millrace/testing/repository.ts";
import { until } from "@millrace/testing/until.ts";
import type { Page } from "playwright-core";
import { prepareAxe, settled, violationsOf } from "./support/axe.ts";
import { noBrowser, Visit } from "./support/browser.ts";

/** Paths of all screens, as app.tsx lists them. */
const screens = [
  ...(await readFile(join(repository, "packages/web/src/app.tsx"), "utf8")).matchAll(/^ {2}\["(\/[^"]*)", lazy/gm),
].map(([, path = ""]) => path);

/** Further addresses of screens whose parts have addresses of their own. */
const parts: Readonly<Record<string, readonly string[]>> = {
  "/datasets/:name": ["?tab=schema", "?tab=versions", "?tab=lineage", "?tab=use"],
  "/pipelines/:id": ["?view=list", "?view=gantt", "?view=runs", "?view=settings"],
  "/schedules": ["?tab=tasks", "?tab=upcoming", "?tab=backfills"],
  "/schedules/:id": ["?tab=history", "?tab=settings"],
};

/** Pages of the server that work without script. */
const plainPages = [
  "/auth/sign-in",
  "/auth/account",
  "/auth/tokens",
  "/auth/device-login",
  "/api/docs",
  "/no/such/page",
];

describe("accessibility in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  let lineage: Lineage;
  /** Values of the parameters of paths, by path. */
  const values: Record<string, string> = {};
  before(async () => {
    visit = await Visit.begin();
    await prepareAxe(visit.context);
    lineage = await openLineage(visit.server, visit.client);
  });
  after(async () => {
    await lineage.close();
    await visit.end();
  });

  /** Opens pages one after another, and returns what axe-core found on them. */
  async function check(page: Page, paths: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (const path of paths) {
      await page.goto(visit.server.url + path);
      await settled(page);
      found.push(...(await violationsOf(page)).map((line) => `${path} ${line}`));
    }
    return found;
  }
  const none = (found: readonly string[]) => assert.equal(found.length, 0, found.join("\n"));
  const address = (path: string) => `/team/main${path.replace(/:\w+/, values[path] ?? "no-such-thing")}`;
  const addresses = (paths: readonly string[]) =>
    paths.flatMap((path) => ["", ...(parts[path] ?? [])].map((part) => address(path) + part));

  it("empty pages have no violations", async () => {
    assert.ok(screens.length > 5, "app.tsx lists its screens");
    none(await check(visit.page, addresses(screens.filter((path) => !path.includes(":")))));
  });

  it("pages of things that do not exist have no violations", async () => {
    const paths = addresses(screens.filter((path) => path.includes(":")));
    const found = await check(visit.page, [...paths, "/team/main/nowhere"]);
    visit.expectComplaints(/status of 4\d\d/);
    none(found);
  });

  it("full pages have no violations", async () => {
    Object.assign(values, await fill(visit, lineage));
    for (const path of screens.filter((one) => one.includes(":")))
      assert.ok(path in values, `the page ${path} needs an example: add one to fill() in this file`);
    none(await check(visit.page, addresses(screens)));
  });

  it("a viewer's pages have no violations", async () => {
    await visit.asMember("viewer", async (page) => {
      await prepareAxe(page.context());
      none(await check(page, addresses(screens)));
    });
  });

  it("pages whose data cannot be read have no violations", async () => {
    const body = JSON.stringify({ code: "internal", message: "The database does not answer." });
    await visit.page.route(/\/api\/datachain\//, (route) =>
      route.fulfill({ status: 500, contentType: "application/json", body }),
    );
    const found = await check(visit.page, addresses(screens));
    await visit.page.unroute(/\/api\/datachain\//);
    visit.expectComplaints(/status of 500/);
    none(found);
  });

  it("dialogs have no violations", async () => {
    await visit.open(address("/schedules/:id"));
    for (const name of ["Pause", "Change owner", "Delete"]) {
      await visit.page.click(`main button:has-text("${name}")`);
      none(await violationsOf(visit.page));
      await visit.page.keyboard.press("Escape");
      await visit.page.waitForSelector("dialog", { state: "detached" });
    }
  });

  it("pages without script have no violations", async () => {
    none(await check(visit.page, plainPages));
    visit.expectComplaints(/status of 40\d/);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});

/** Fills the team with one of everything. Returns the values of the parameters of the paths of pages. */
async function fill({ client }: Visit, lineage: Lineage): Promise<Record<string, string>> {
  const { job } = await runJob(client, shell("echo one; echo broken >&2; exit 3", { query_name: "broken.sh" }));
  await createJob(client, shell("sleep 600", { query_name: "long.sh" }));
  const task = await createJob(client, shell("true", { query_name: "task.sh", cron_expression: "@daily" }));
  const raw = await lineage.make("raw", shell("true", { query_name: "raw.sh" }));
  await lineage.make("final", shell("true", { query_name: "final.sh" }), [raw]);
  const trigger = { body: { datasets: ["final"], review: true } };
  const { name } = (await client.call(routes.triggerPipeline, trigger)).pipeline;
  const { schedule } = await client.call(routes.createSchedule, {
    body: { schedule_name: "nightly", pipeline_name: name, start_after: "2020-01-01", cron_expression: "@daily" },
  });
  const once = await client.call(routes.createSchedule, {
    body: { schedule_name: "once", pipeline_name: name, start_after: "2020-01-01" },
  });
  const query = { schedule_id: once.schedule.id };
  await until("a run", async () => (await client.call(routes.getSchedule, { query })).latest_run?.finished_at);
  const { backfill } = await client.call(routes.createBackfill, {
    body: { pipeline_name: name, from: "2026-01-01", to: "2026-01-03" },
  });
  return {
    "/datasets/jobs/:id": job.id,
    "/schedules/:id": String(once.schedule.id ?? schedule.id),
    "/schedules/tasks/:id": task.id,
    "/schedules/backfills/:id": String(backfill.id),
    "/datasets/:name": "final",
    "/pipelines/:id": name,
    "/settings/:tab": "profile",
  };
}
