/** The page of a large pipeline in a real browser: how long it takes to draw the graph, and to draw a change. */
import { randomUUID } from "node:crypto";
import { type Client, routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { type Made, originalJob, recordMade } from "@millrace/testing/millrace/lineage.ts";
import type { TestServer } from "@millrace/testing/millrace/server.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { Visit } from "../e2e/support/browser.ts";
import { openStore } from "../packages/server/src/store/opening/open-store.ts";
import { compare, inTurns, type Measurement } from "./measure.ts";

const columns = 10;
const rounds = 7;

/**
 * Creates a draft of a pipeline with this many jobs, in ten columns. Each job needs two jobs of the column before it,
 * so that no two jobs are alike and nothing can be grouped. Returns the path of its page.
 */
export async function makeDraft(server: TestServer, client: Client, count: number): Promise<string> {
  const store = await openStore(storeIn(server.dataDir));
  const prefix = `web_${randomUUID().slice(0, 8)}`;
  const rows = count / columns;
  let before: Made[] = [];
  for (let column = 0; column < columns; column++) {
    const made: Made[] = [];
    for (let row = 0; row < rows; row++) {
      const { id } = await originalJob(client, shell(":", { query_name: `job_${column}_${row}.sh` }));
      const needs = before.length === 0 ? [] : [before[row], before[(row * 7 + 1) % rows]];
      made.push(await recordMade(store, id, `${prefix}_${column}_${row}`, { needs: needs as Made[] }));
    }
    before = made;
  }
  await store.close();
  const body = { datasets: before.map(({ name }) => name), review: true };
  const { pipeline } = await client.call(routes.triggerPipeline, { body });
  if (pipeline.total !== count) throw new Error(`the pipeline has ${pipeline.total} jobs instead of ${count}`);
  return `/team/main/pipelines/${pipeline.pipeline_id}`;
}

/**
 * A promise of the page for the moment at which the frame is drawn after a condition became true, by the clock of the
 * page. Playwright itself looks for changes after 20, 70, 170, 270, 770 ms, which is too coarse to compare.
 */
const drawnWhen = (condition: string) => `new Promise((resolve) => {
  const isTrue = () => ${condition};
  const look = () => {
    if (!isTrue()) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(performance.now());
      port2.postMessage(undefined);
    });
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true, characterData: true });
  look();
})`;

/** From the request for the page until the graph is drawn. The clock of a page begins with its request. */
async function draw({ page, url }: Visit, path: string): Promise<number> {
  await page.goto("about:blank");
  await page.goto(url + path, { waitUntil: "commit" });
  return page.evaluate<number>(drawnWhen('document.querySelector(".graph .node") !== null'));
}

/** From the answer to the question whether to remove a job until the page shows that the job is gone. */
async function change(visit: Visit, path: string): Promise<number> {
  const { page } = visit;
  await draw(visit, path);
  await page.locator(".graph .node").first().press("Space");
  await page.getByRole("button", { name: /^Remove/ }).click();
  const answer = page.getByRole("button", { name: "Remove the job" });
  await answer.waitFor();
  const isGone = `document.querySelector('.graph [data-id="' + selected + '"]') === null`;
  await page.evaluate(`{
    const number = () => document.querySelector(".progress .number").textContent;
    const [before, selected] = [number(), new URL(location).searchParams.get("job")];
    const clicked = new Promise((resolve) => {
      document.addEventListener("click", (event) => resolve(event.timeStamp), { capture: true, once: true });
    });
    const shown = ${drawnWhen(`number() !== before && ${isGone}`)};
    window.took = Promise.all([clicked, shown]).then(([begin, end]) => end - begin);
    undefined;
  }`);
  await answer.click();
  return page.evaluate<number>("window.took");
}

export async function measureWebPipelines(): Promise<Measurement[]> {
  const visit = await Visit.begin({ env: { MILLRACE_LOG_LEVEL: "warn" } });
  try {
    const large = await makeDraft(visit.server, visit.client, 1000);
    const small = await makeDraft(visit.server, visit.client, 100);
    for (const path of [large, small]) await draw(visit, path);
    const drawn = await inTurns(
      rounds,
      () => draw(visit, large),
      () => draw(visit, small),
    );
    const changed = await inTurns(
      rounds,
      () => change(visit, large),
      () => change(visit, small),
    );
    const sides = ([ours, other]: readonly [number, number]) => ({ ours, other, unit: "ms", otherIs: "with 100 jobs" });
    return [
      compare("page of a pipeline with 1,000 jobs until its graph is drawn", "<= 2", sides(drawn)),
      compare("a job removed from a pipeline with 1,000 jobs until its page shows it", "<= 2", sides(changed)),
    ];
  } finally {
    await visit.end();
  }
}
