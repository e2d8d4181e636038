/** The list of jobs in a real browser: 100,000 jobs compared with 100, and its first paint with that of a plain page. */
import type { TestServer } from "@millrace/testing/millrace/server.ts";
import type { Page } from "playwright-core";
import { launch } from "../e2e/support/browser.ts";
import { serverWithJobs } from "./many-jobs.ts";
import { compare, inTurns, type Measurement } from "./measure.ts";

const rounds = 15;
const list = "/team/main/datasets/jobs";
const filters = ["", "&q=template", "&by=admin", "&name=template.sh", "&cluster=local"];

export async function measureJobsList(): Promise<Measurement[]> {
  const [large, small] = [await serverWithJobs(100_000), await serverWithJobs(100)];
  const browser = await launch();
  try {
    const pages = [await signedIn(await browser.newPage(), large), await signedIn(await browser.newPage(), small)];
    const [many, few] = pages as [Page, Page];
    return [...(await measureFilters(many, few)), await measureFirstPaint(many, large.url)];
  } finally {
    await browser.close();
    await Promise.all([large.dispose(), small.dispose()]);
  }
}

async function signedIn(page: Page, server: TestServer): Promise<Page> {
  const links = server.output.match(/http\S+\/auth\/sign-in\?link=\S+/g) ?? [];
  await page.goto(links.at(-1) ?? "");
  return page;
}

async function measureFilters(many: Page, few: Page): Promise<Measurement[]> {
  const results: Measurement[] = [];
  for (const page of [many, few]) await open(page);
  for (const filter of filters) {
    const [ours, other] = await inTurns(
      rounds,
      () => filterTime(many, filter),
      () => filterTime(few, filter),
    );
    const sides = { ours, other, unit: "ms", otherIs: "with 100" };
    results.push(compare(`filter 100,000 jobs in a browser, status=complete${filter}`, "<= 2", sides));
  }
  return results;
}

async function open(page: Page): Promise<void> {
  await page.goto(new URL(list, page.url()).href);
  await page.waitForSelector("section[aria-label=Jobs] tbody tr");
}

let uniques = 0;

/** Shows the failed jobs, and measures how long it takes to show the complete ones instead. */
async function filterTime(page: Page, filter: string): Promise<number> {
  await change(page, `status=failed${filter}`, "Failed");
  return change(page, `status=complete${filter}`, "Complete");
}

/** Changes the filters, and returns the milliseconds until the rows have this state. The page keeps no such answer yet. */
async function change(page: Page, filters: string, word: string): Promise<number> {
  const minute = String(++uniques % 60).padStart(2, "0");
  const hour = String(Math.floor(uniques / 60)).padStart(2, "0");
  const search = `?${filters}&from=2000-01-01T${hour}:${minute}`;
  return page.evaluate(
    `new Promise((resolve) => {
      const begin = performance.now();
      history.pushState(null, "", location.pathname + ${JSON.stringify(search)});
      const look = () => {
        const shown = document.querySelector("section[aria-label=Jobs] tbody .status")?.textContent;
        if (shown === ${JSON.stringify(word)}) resolve(performance.now() - begin);
        else setTimeout(look, 0);
      };
      look();
    })`,
  ) as Promise<number>;
}

async function measureFirstPaint(page: Page, url: string): Promise<Measurement> {
  const paint = async (path: string) => {
    await page.goto(url + path);
    for (;;) {
      const time = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
      if (typeof time === "number") return time;
    }
  };
  await paint(list);
  const [ours, other] = await inTurns(
    rounds,
    () => paint(list),
    () => paint("/auth/sign-in"),
  );
  const sides = { ours, other, unit: "ms", otherIs: "plain page" };
  return compare("first paint of the list of 100,000 jobs", "<= 2", sides);
}
