/** Pages while the database of the server is away: they say so, lose nothing, and go on by themselves when it is back. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type OwnPostgres, startOwnPostgres } from "@millrace/testing/servers/postgres.ts";
import { until } from "@millrace/testing/until.ts";
import { noBrowser, Visit } from "./support/browser.ts";

describe("pages without a database", { skip: noBrowser }, () => {
  let postgres: OwnPostgres;
  let visit: Visit;
  before(async () => {
    postgres = await startOwnPostgres();
    const env = { MILLRACE_DATABASE_TIMEOUT: "1" };
    visit = await Visit.begin({ databaseUrl: await postgres.createDatabase(), env });
  });
  after(async () => {
    await visit.end();
    await postgres.stop();
  });

  const away = () => visit.page.waitForSelector(".reconnecting:text('No database')");
  const isHealed = () => visit.page.waitForSelector(".reconnecting:not(:has-text('a'))", { state: "attached" });
  /** Creates a job as soon as the server can. */
  const create = (query_name: string) =>
    until("a job is accepted", () => createJob(visit.client, shell("true", { query_name })).catch(() => undefined));
  /** The browser itself complains about every answer of 500 and above. */
  const forget = () => visit.expectComplaints(/status of 503/);

  type Step = () => Promise<void>;
  /** Runs while there is no database. */
  async function during(begin: Step, end: Step, run: Step): Promise<void> {
    await begin();
    await run().finally(end);
  }
  const outages = {
    "shut down": [() => postgres.cluster.down("fast"), () => postgres.cluster.up()],
    killed: [() => postgres.cluster.down("kill"), () => postgres.cluster.up()],
    suspended: [() => postgres.cluster.pause(), () => postgres.cluster.resume()],
  } as const;
  for (const [word, [begin, end]] of Object.entries(outages))
    it(`a list says that the database is ${word}, and shows afterwards what is new, without a reload`, async () => {
      await create(`before-${word}.sh`);
      await visit.open("/team/main/datasets/jobs");
      await visit.sees(new RegExp(`before-${word}.sh`));
      await visit.page.evaluate("window.mark = 'same page'");
      await during(begin, end, async () => {
        await away();
        await visit.sees(new RegExp(`before-${word}.sh`));
        if (word === "killed") await visit.picture("database-away");
      });
      await create(`after-${word}.sh`);
      await visit.sees(new RegExp(`after-${word}.sh`), 30);
      await isHealed();
      assert.equal(await visit.page.evaluate("window.mark"), "same page");
      forget();
    });

  it("a screen that was not read yet says why it is empty, and fills itself", async () => {
    await visit.open("/team/main/datasets/jobs");
    await visit.sees(/after-suspended/);
    await during(...outages["shut down"], async () => {
      await away();
      await visit.page.click('nav.places a:has-text("Schedules")');
      await visit.sees(/Not available at the moment[\s\S]*database of the server is unreachable/);
      await visit.picture("database-away-screen");
    });
    await visit.sees(/No schedules yet/, 40);
    await isHealed();
    forget();
  });

  it("an action is refused at once, and works when it is repeated", async () => {
    const { job } = await runJob(visit.client, shell("exit 1", { query_name: "again.sh" }));
    await visit.open(`/team/main/datasets/jobs/${job.id}`);
    await visit.sees(/Why it failed/);
    await during(...outages["shut down"], async () => {
      await away();
      await visit.page.click("button:text-is('Rerun')");
      await visit.sees(/database of the server is unreachable[\s\S]*Nothing was changed/, 5);
    });
    await isHealed();
    await visit.page.click("button:text-is('Rerun')");
    await visit.page.waitForURL((url) => !url.href.includes(job.id));
    const made = await visit.client.call(routes.listJobs, { query: { search: "again.sh" } });
    assert.equal(made.length, 2);
    forget();
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
