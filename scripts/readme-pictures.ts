/**
 * Takes the pictures of the README from a server with the demo, and writes them to packages/web/pictures. Run it after changes of
 * the web UI: node_modules/.bin/node --conditions=millrace-source scripts/readme-pictures.ts
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { routes } from "@millrace/contract";
import { waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { repository } from "@millrace/testing/repository.ts";
import { Visit } from "../e2e/support/browser.ts";

const folder = join(repository, "packages/web/pictures");
await mkdir(folder, { recursive: true });
const visit = await Visit.begin();
const { client, page } = visit;
const picture = (name: string) => page.screenshot({ path: join(folder, `${name}.png`) });
const jobs = () => client.call(routes.listJobs, { query: { limit: 50 } });

await page.setViewportSize({ width: 1280, height: 680 });
await visit.open("/team/main");
await page.click('button:text("Make the demo")');
await visit.sees(/Remove the demo/, 60);
for (const { id, name } of await jobs()) if (name !== "demo-indexing.sh") await waitForEnd(client, id, 120);
await visit.open("/team/main");
await visit.sees(/failed since yesterday[\s\S]*demo-import/);
await picture("home");

const failed = (await jobs()).find(({ status }) => status === "FAILED");
await visit.open(`/team/main/datasets/jobs/${failed?.id}`);
await visit.sees(/Why it failed[\s\S]*importing/);
await picture("job");

const [pipeline] = await client.call(routes.listPipelines, { query: {} });
await visit.open(`/team/main/pipelines/${pipeline?.pipeline_id}`);
await visit.sees(/Critical path/);
await picture("pipeline");

await visit.open("/team/main/datasets/demo.shop.revenue?tab=lineage");
await visit.sees(/The graph as a list/);
await picture("lineage");
await visit.end();
