/** The log viewer in a real browser: a log of a million lines beside one of a thousand, and the memory that it takes. */
import assert from "node:assert/strict";
import { type Client, type LogHits, routes } from "@millrace/contract";
import { createJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import type { Page } from "playwright-core";
import { launch } from "../e2e/support/browser.ts";
import { compare, limit, type Measurement, median } from "./measure.ts";

const rounds = 5;
const lines = 1_000_000;
/** Lines of 100 bytes. */
const write = (count: number) => `awk 'BEGIN { for (i = 1; i <= ${count}; i++) printf "%08d %090d\\n", i, 0 }'`;

export async function measureWebLogs(): Promise<Measurement[]> {
  const server = await TestServer.start({ env: { MILLRACE_LOG_LEVEL: "warn" } });
  const browser = await launch();
  try {
    const client = await server.client();
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(/http\S+\/auth\/sign-in\?link=\S+/.exec(server.output)?.[0] ?? "");
    await open(page, server, await writtenBy(client, 1000), 1000);
    const long: number[] = [];
    const short: number[] = [];
    let id = "";
    for (let round = 0; round < rounds; round++) {
      // A new job every time, so that the server has not counted its lines before.
      id = await writtenBy(client, lines);
      long.push(await open(page, server, id, lines));
      short.push(await open(page, server, await writtenBy(client, 1000), 1000));
    }
    const opening = { ours: median(long), other: median(short), unit: "ms", otherIs: "for 1,000 lines" };
    await open(page, server, id, lines);
    await lookAround(page);
    const heap = await heapMegabytes(page);
    return [
      compare("opening a log of 1,000,000 lines at its end", "<= 1.5", opening),
      limit("heap of the tab after scrolling and searching", heap, 60, "MB"),
      limit("a search through 100 MB", await searched(client, id), 1000, "ms"),
    ];
  } finally {
    await browser.close();
    await server.dispose();
  }
}

async function writtenBy(client: Client, count: number): Promise<string> {
  const { id } = await createJob(client, shell(write(count)));
  await waitForEnd(client, id);
  return id;
}

const shows = (line: number) =>
  `[...document.querySelectorAll(".log-text")].some((row) => row.textContent.startsWith("${String(line).padStart(8, "0")} "))`;

async function until(page: Page, expression: string): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    if (await page.evaluate<boolean>(expression)) return;
  }
  assert.fail(`not in time: ${expression}`);
}

/** Milliseconds from the navigation until the last line of the log is in the page. */
async function open(page: Page, server: TestServer, id: string, last: number): Promise<number> {
  await page.goto("about:blank");
  const begin = performance.now();
  await page.goto(`${server.url}/team/main/datasets/jobs/${id}`, { waitUntil: "commit" });
  await until(page, shows(last));
  return performance.now() - begin;
}

/** Scrolls through the whole log and searches in it, as a reader does. */
async function lookAround(page: Page): Promise<void> {
  await until(page, `document.querySelector(".log-foot").textContent.includes("lines")`);
  for (let part = 0; part <= 40; part++) {
    await page.evaluate(`(() => {
      const frame = document.querySelector(".log-frame");
      frame.scrollTop = (frame.scrollHeight * ${part}) / 40;
    })()`);
    await page.waitForTimeout(100);
  }
  await page.fill(".log-search input", "0500000");
  await page.keyboard.press("Enter");
  await until(page, `/\\d+ lines?/.test(document.querySelector(".log-search").textContent)`);
  await page.keyboard.press("Enter");
  await until(page, shows(500_000));
}

async function heapMegabytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / 1e6;
}

/** Milliseconds of a search through the whole log, in as many requests as the server needs. */
async function searched(client: Client, job_id: string): Promise<number> {
  const begin = performance.now();
  for (let from: number | null = 1; from !== null; ) {
    const query = { text: "not in there", first_line: from };
    const page: LogHits = await client.call(routes.searchLog, { params: { job_id }, query });
    from = page.next;
  }
  return performance.now() - begin;
}
