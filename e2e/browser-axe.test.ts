/**
 * Accessibility of the whole web UI in a real browser: axe-core finds nothing on any page, in both themes, whether it is
 * empty, full, broken or shown to a viewer.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { createJob, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { repository } from "@millrace/testing/repository.ts";
import { until } from "@millrace/testing/until.ts";
import type { Page } from "playwright-core";
import { prepareAxe, settled, violationsOf } from "./support/axe.ts";
import { noBrowser, Visit } from "./support/browser.ts";

/** Returns what a pattern finds in a source of the web UI, so that nothing new is forgotten here. */
const listed = async (file: string, pattern: RegExp) =>
  [...(await readFile(join(repository, "packages/web/src", file), "utf8")).matchAll(pattern)].map(
    ([, one = ""]) => one,
  );

/** Paths of all screens of a team, as app.tsx lists them, and the tabs whose names are the ends of paths. */
const screens = await listed("app.tsx", /^ {2}\["(\/[^"]*)", lazy/gm);
const settings = await listed("settings/settings-screen.tsx", /^ *\{ name: "([^"]*)"/gm);
const administration = (await listed("administration/administration-screen.tsx", /^ *\{ name: "([^"]*)"/gm)).map(
  (tab) => `/administration/${tab}`,
);

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

/** Buttons that open a dialog or a form, by the path of their page. */
const dialogs: readonly (readonly [string, readonly string[]])[] = [
  ["/schedules", ["Pause nightly"]],
  ["/schedules/:id", ["Change owner", "Delete"]],
  ["/schedules/tasks/:id", ["Edit", "Change owner", "Cancel task"]],
  ["/pipelines/:id", ["Cancel"]],
  ["/datasets/:name", ["Edit", "Remove"]],
  ["/editor", ["Discard"]],
  ["/settings/tokens", ["Revoke"]],
  ["/settings/members", ["Remove"]],
  ["/settings/credentials", ["New credentials of the team", "Replace", "Delete"]],
  ["/settings/webhooks", ["New webhook", "Edit", "Delete"]],
  ["/administration/users", ["New user", "Edit", "Disable"]],
  ["/administration/clusters", ["Add cluster", "Change grid", "Test grid", "Remove grid"]],
  ["/administration/teams", ["New team", "Usage", "Quotas"]],
];

describe("accessibility in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  let lineage: Lineage;
  /** A folder that jobs may use, and that the storage browser shows. */
  let base: string;
  /** Values of the parameters of paths, by path. */
  const values: Record<string, string> = {};
  before(async () => {
    base = await mkdtemp(join(tmpdir(), "millrace-axe-"));
    await mkdir(join(base, "folder"));
    await writeFile(join(base, "file.csv"), "12345");
    visit = await Visit.begin({ env: { MILLRACE_JOB_PATHS: base } });
    await prepareAxe(visit.context);
    lineage = await openLineage(visit.server, visit.client);
  });
  after(async () => {
    await lineage.close();
    await visit.end();
    await rm(base, { recursive: true, force: true });
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
  const address = (path: string) =>
    path.startsWith("/administration") ? path : `/team/main${path.replace(/:\w+/, values[path] ?? "no-such-thing")}`;
  const partsOf = (path: string) => (path === "/storage" ? [`?uri=file://${base}`] : (parts[path] ?? []));
  const addresses = (paths: readonly string[]) =>
    paths.flatMap((path) => ["", ...partsOf(path)].map((part) => address(path) + part));
  const tabs = settings.map((tab) => `/settings/${tab}`);

  it("empty pages have no violations", async () => {
    assert.ok(screens.length > 5, "app.tsx lists its screens");
    assert.ok(settings.length > 5 && administration.length > 3, "the screens list their tabs");
    none(await check(visit.page, addresses([...screens.filter((path) => !path.includes(":")), ...tabs])));
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
    none(await check(visit.page, addresses([...screens, ...tabs, ...administration])));
  });

  it("a viewer's pages have no violations", async () => {
    await visit.asMember("viewer", async (page) => {
      await prepareAxe(page.context());
      none(await check(page, addresses([...screens, ...tabs, "/administration"])));
    });
  });

  it("pages whose data cannot be read have no violations", async () => {
    const body = JSON.stringify({ code: "internal", message: "The database does not answer." });
    const data = /\/api\/(?!whoami|live)/;
    await visit.page.route(data, (route) => route.fulfill({ status: 500, contentType: "application/json", body }));
    const found = await check(visit.page, addresses([...screens, ...tabs, ...administration]));
    await visit.page.unroute(data);
    visit.expectComplaints(/status of 500/);
    none(found);
  });

  it("open dialogs and forms have no violations", async () => {
    const found: string[] = [];
    for (const [path, names] of dialogs)
      for (const name of names) {
        await visit.open(address(path));
        await settled(visit.page);
        await visit.page.getByRole("main").getByRole("button", { name }).first().click({ timeout: 5000 });
        await visit.page.waitForSelector("dialog[open], main form");
        found.push(...(await violationsOf(visit.page)).map((line) => `${path} ${name}: ${line}`));
      }
    none(found);
  });

  it("questions about several jobs and about a running one have no violations", async () => {
    await visit.open(address("/datasets/jobs"));
    await settled(visit.page);
    await visit.page.locator("thead input[type=checkbox]").check();
    await visit.page.waitForSelector(".bulk-bar");
    const found = await violationsOf(visit.page);
    await visit.page.click(".bulk-bar button:has-text('Cancel')");
    await visit.page.waitForSelector("dialog[open]");
    none([...found, ...(await violationsOf(visit.page))]);
  });

  it("open menus, the palette and the sheet of keys have no violations", async () => {
    const found: string[] = [];
    for (const path of ["/datasets/jobs", "/datasets/jobs/:id", "/pipelines/:id"]) {
      await visit.open(address(path));
      await settled(visit.page);
      await visit.page.click("main .copy-as summary");
      found.push(...(await violationsOf(visit.page)).map((line) => `Copy as on ${path}: ${line}`));
    }
    await visit.page.click(".user-menu summary");
    found.push(...(await violationsOf(visit.page)).map((line) => `the menu of the user: ${line}`));
    await visit.page.keyboard.press("Escape");
    for (const typed of ["", "long", "nothing is called this"]) {
      await visit.page.keyboard.press("Control+k");
      await visit.page.getByRole("dialog").getByRole("combobox").waitFor();
      await visit.page.keyboard.type(typed);
      found.push(...(await violationsOf(visit.page)).map((line) => `the palette with "${typed}": ${line}`));
      await visit.page.keyboard.press("Escape");
      await visit.page.waitForSelector("dialog", { state: "detached" });
    }
    await visit.page.keyboard.press("?");
    await visit.page.waitForSelector("dialog[open]");
    found.push(...(await violationsOf(visit.page)).map((line) => `the keys: ${line}`));
    none(found);
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
  await fillSettings(client);
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

/** Fills the tabs of the settings and of the administration. */
async function fillSettings(client: Client): Promise<void> {
  const team = { team_name: "main" };
  const username = "somebody";
  await client.call(routes.createUser, { body: { username, password: "correct horse battery" } });
  await client.call(routes.addMember, { params: team, body: { username, role: "editor" } });
  await client.call(routes.createToken, { body: { name: "laptop", scopes: ["JOB"] } });
  await client.call(routes.createInvitation, { params: team, body: { role: "viewer" } });
  await client.call(routes.setTeamCredentials, { body: { name: "aws", values: { AWS_REGION: "eu-1" } } });
  await client.call(routes.createWebhook, { body: { url: "https://hook.example/it" } });
  // Nothing listens there.
  const ray = { address: "http://127.0.0.1:9" };
  await client.call(routes.createCluster, {
    body: { name: "grid", engine: "ray", max_workers: 4, teams: ["main"], ray },
  });
}
