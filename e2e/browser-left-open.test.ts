/** Pages that stay open for long: however often their data changes, they keep no more of it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { until } from "@millrace/testing/until.ts";
import type { CDPSession, Page } from "playwright-core";
import { noBrowser, Visit } from "./support/browser.ts";

/** Each page that can be seen has a stream, and a browser has six connections to a server. */
const paths = ["", "/datasets/jobs", "/schedules?tab=tasks", "/clusters"];
/** Changes before the first measurement, and between it and the last. */
const [warmUp, rounds] = [15, 80];

/** What a page holds after a garbage collection. */
interface Held {
  /** Nodes of the document, and detached ones that something still refers to. */
  readonly nodes: number;
  readonly listeners: number;
  readonly heapBytes: number;
}

/** An open page, with the addresses of the answers that it has read. */
class OpenPage {
  readonly addresses = new Set<string>();
  readings = 0;
  readonly #page: Page;
  readonly #debugger: CDPSession;

  static async open(visit: Visit, path: string): Promise<OpenPage> {
    const page = await visit.context.newPage();
    const open = new OpenPage(page, await visit.context.newCDPSession(page));
    await page.goto(`${visit.url}/team/main${path}`);
    await page.waitForSelector("main h1");
    return open;
  }

  private constructor(page: Page, debug: CDPSession) {
    this.#page = page;
    this.#debugger = debug;
    page.on("requestfinished", (request) => {
      if (!/\/api\/(?!live)/.test(request.url())) return;
      this.readings++;
      this.addresses.add(request.url());
    });
  }

  async held(): Promise<Held> {
    await this.#debugger.send("HeapProfiler.collectGarbage");
    const { nodes, jsEventListeners } = await this.#debugger.send("Memory.getDOMCounters");
    const { usedSize } = await this.#debugger.send("Runtime.getHeapUsage");
    return { nodes, listeners: jsEventListeners, heapBytes: usedSize };
  }

  close = () => this.#page.close();
}

describe("pages that are left open", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  it("grow neither in nodes, listeners and memory nor in answers that they keep", async () => {
    await runJob(visit.client, shell("true", { query_name: "done.sh" }));
    const { id } = await createJob(visit.client, shell("true", { query_name: "task.sh", cron_expression: "@yearly" }));
    await visit.page.goto("about:blank");
    const pages = await Promise.all(paths.map((path) => OpenPage.open(visit, path)));
    const list = pages[1] as OpenPage;
    let count = 0;
    /** Changes something, and waits until the list of jobs has been read again. */
    const change = async () => {
      const { readings } = list;
      await visit.client.call(routes.updateTask, { params: { job_id: id }, body: { is_paused: count++ % 2 === 0 } });
      await until("the list is read again", () => list.readings > readings);
    };
    for (let round = 0; round < warmUp; round++) await change();
    const before = await Promise.all(pages.map((page) => page.held()));
    const known = pages.map(({ addresses }) => addresses.size);
    const readings = pages.map((page) => page.readings);
    for (let round = 0; round < rounds; round++) await change();
    const after = await Promise.all(pages.map((page) => page.held()));
    for (const [index, path] of paths.entries()) {
      const [first, last, page] = [before[index], after[index], pages[index]];
      assert.ok(first && last && page);
      const grown = `${path}: ${JSON.stringify(first)} became ${JSON.stringify(last)}`;
      assert.ok(last.nodes <= first.nodes + 100, grown);
      assert.ok(last.listeners <= first.listeners + 20, grown);
      assert.ok(last.heapBytes <= first.heapBytes + 1_500_000, grown);
      assert.equal(page.addresses.size, known[index], `${path} asks for ${[...page.addresses].slice(-5).join(" ")}`);
      assert.ok(page.readings > (readings[index] ?? 0) + rounds / 4, `${path} is live`);
      await page.close();
    }
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
